"""Peers of the data exchange by Thrift's own compiler and library, in Python: a receiver that pulls and a sender that is pulled from."""
import importlib
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading

from thrift.protocol.TBinaryProtocol import TBinaryProtocolFactory
from thrift.protocol.TCompactProtocol import TCompactProtocolFactory
from thrift.transport.TSocket import TServerSocket, TSocket
from thrift.transport.TTransport import TFramedTransport, TFramedTransportFactory
from thrift.server.TServer import TThreadedServer

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.dirname(os.path.dirname(os.path.realpath(os.environ["SLUICE_BIN"])))
NODE = os.path.join(BUILD, "tests", "interop", "exchange_node")
PROTOCOLS = {"binary": TBinaryProtocolFactory, "compact": TCompactProtocolFactory}


def generate():
    """The modules of the interface and its structs, by the compiler."""
    folder = tempfile.mkdtemp(prefix="sluice-thrift.")
    try:
        subprocess.run(["thrift", "--gen", "py", "-out", folder, os.path.join(HERE, "data_exchange.thrift")], check=True,
                       capture_output=True)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("data_exchange.DataExchange"), importlib.import_module("data_exchange.ttypes")
        finally:
            sys.path.remove(folder)
    finally:
        shutil.rmtree(folder)


service, types = generate() if shutil.which("thrift") else (None, None)


def block_bytes(block, n):
    """As exchange_node.c makes them."""
    period = bytes((31 * i + 7 + block) % 256 for i in range(256))
    return (period * (n // 256 + 1))[:n]


def source():
    return types.FragmentInstanceId("q0", 1, "0")


def target():
    return types.FragmentInstanceId("q0", 2, "0")


class Client:
    def __init__(self, port, protocol):
        socket = TSocket("127.0.0.1", port)
        socket.setTimeout(20000)
        self.transport = TFramedTransport(socket)
        self.transport.open()
        self.calls = service.Client(PROTOCOLS[protocol]().getProtocol(self.transport))

    def __enter__(self):
        return self.calls

    def __exit__(self, *_):
        self.transport.close()


class Server:
    """Answers by the methods of HANDLER, on a port of its own, until the end of the test."""
    def __init__(self, test, handler, protocol):
        socket = TServerSocket("127.0.0.1", 0)
        socket.listen()
        self.port = socket.handle.getsockname()[1]
        socket.listen = lambda: None  # it does already
        server = TThreadedServer(service.Processor(handler), socket, TFramedTransportFactory(), PROTOCOLS[protocol](), daemon=True)
        threading.Thread(target=server.serve, daemon=True).start()
        test.addCleanup(socket.close)


class Handler:
    """What every peer answers; the tests' own ones say more."""
    def __init__(self):
        self.events = queue.Queue()

    def onAcknowledgeDataBlockEvent(self, e):
        self.events.put(("ack", e))

    def onCloseSinkChannelEvent(self, e):
        self.events.put(("close", e))

    def onNewDataBlockEvent(self, e):
        self.events.put(("new", e))

    def onEndOfDataBlockEvent(self, e):
        self.events.put(("end", e))

    def testConnectionEmptyRPC(self):
        return types.Status(200)


class Node:
    """exchange_node as a process."""
    def __init__(self, test, *args):
        self.process = subprocess.Popen([NODE, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.stop)
        line = self.process.stdout.readline()
        test.assertTrue(line.startswith("port "), line + (self.process.stderr.read() if not line else ""))
        self.port = int(line.split()[1])

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        """Its lines."""
        out, err = self.process.communicate(timeout=60)
        return out.splitlines(), err

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
