"""IoTDB's own classes, from Maven, and a Java program of ours on them."""
import functools
import glob
import hashlib
import os
import shutil
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "..", "build-interop", "java")


@functools.cache
def classpath():
    """Of the jars and the compiled programs; skips the test where they cannot be had."""
    if not shutil.which("mvn") or not shutil.which("javac"):
        raise unittest.SkipTest("no Maven or no Java compiler")
    pom = os.path.join(HERE, "java", "pom.xml")
    with open(pom, "rb") as f:
        jars = os.path.join(FOLDER, "jars-" + hashlib.sha256(f.read()).hexdigest()[:16])
    if not glob.glob(os.path.join(jars, "tsfile-*.jar")):
        p = subprocess.run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies",
                            f"-DoutputDirectory={os.path.abspath(jars)}"], capture_output=True, text=True, timeout=280)
        if p.returncode != 0:
            raise unittest.SkipTest("the jars of IoTDB cannot be fetched")
    classes = os.path.join(FOLDER, "classes")
    shutil.rmtree(classes, ignore_errors=True)
    subprocess.run(["javac", "-cp", os.path.join(jars, "*"), "-d", classes, *glob.glob(os.path.join(HERE, "java", "*.java"))], check=True)
    return f"{classes}:{os.path.join(jars, '*')}"


def java(main, *args):
    return subprocess.run(["java", "-cp", classpath(), main, *args], check=True, capture_output=True, text=True, timeout=120).stdout


def java_process(main, *args):
    return subprocess.Popen(["java", "-cp", classpath(), main, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
