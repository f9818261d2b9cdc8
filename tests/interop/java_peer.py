"""IoTDB's own classes, from Maven, and Thrift's in Java, with programs of ours on them."""
import functools
import glob
import hashlib
import os
import shutil
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.abspath(os.path.join(HERE, "..", "..", "build-interop", "java"))
DEBIAN = ["/usr/share/java/thrift.jar", "/usr/share/java/slf4j-api.jar"]


def compiled(name, classpath, sources):
    classes = os.path.join(FOLDER, name)
    shutil.rmtree(classes, ignore_errors=True)
    subprocess.run(["javac", "-nowarn", "-cp", classpath, "-d", classes, *sources], check=True, capture_output=True)
    return f"{classes}:{classpath}"


@functools.cache
def iotdb():
    """Classpath of IoTDB's jars and the programs on them; skips the test where they cannot be had."""
    if not shutil.which("mvn") or not shutil.which("javac"):
        raise unittest.SkipTest("no Maven or no Java compiler")
    pom = os.path.join(HERE, "java", "pom.xml")
    with open(pom, "rb") as f:
        jars = os.path.join(FOLDER, "jars-" + hashlib.sha256(f.read()).hexdigest()[:16])
    if not glob.glob(os.path.join(jars, "tsfile-*.jar")):
        p = subprocess.run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"],
                           capture_output=True, text=True, timeout=280)
        if p.returncode != 0:
            raise unittest.SkipTest("the jars of IoTDB cannot be fetched")
    return compiled("iotdb", os.path.join(jars, "*"), glob.glob(os.path.join(HERE, "java", "*.java")))


@functools.cache
def thrift():
    """The same of the classes that Thrift's compiler makes from our interface file."""
    if not shutil.which("thrift") or not shutil.which("javac") or not all(map(os.path.exists, DEBIAN)):
        raise unittest.SkipTest("no Thrift for Java")
    made = os.path.join(FOLDER, "made")
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(made)
    subprocess.run(["thrift", "--gen", "java:generated_annotations=suppress", "-out", made,
                    os.path.join(HERE, "data_exchange.thrift")], check=True, capture_output=True)
    return compiled("thrift", ":".join(DEBIAN), glob.glob(os.path.join(made, "*", "*.java")) +
                    glob.glob(os.path.join(HERE, "java-thrift", "*.java")))


def java(classpath, main, *args):
    return subprocess.run(["java", "-cp", classpath, main, *args], check=True, capture_output=True, text=True, timeout=120).stdout


def java_process(classpath, main, *args):
    return subprocess.Popen(["java", "-cp", classpath, main, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
