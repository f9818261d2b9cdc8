"""The data exchange with peers by Thrift's compiler in Python, as receiver and as sender, in both protocols."""
import logging
import os
import tempfile
import unittest

from thrift.Thrift import TApplicationException

from java_peer import iotdb, java_process, thrift
from thrift_peer import Client, Handler, Node, PROTOCOLS, Server, block_bytes, service, source, target, types

logging.disable(logging.CRITICAL)  # Thrift's server tells of the errors that the tests make
LIMIT = 1000
SIZES = [1, 999, 1000, 1001, 5, 2500, 300000]


def settings(test, protocol, limit=LIMIT):
    f = tempfile.NamedTemporaryFile("w", suffix=".properties", delete=False)
    f.write(f"mpp_data_exchange_max_payload_size_in_bytes={limit}\n"
            f"dn_rpc_thrift_compression_enable={'true' if protocol == 'compact' else 'false'}\n")
    f.close()
    test.addCleanup(os.unlink, f.name)
    return f.name


@unittest.skipIf(service is None, "no Thrift compiler")
class Receiving(unittest.TestCase):
    """The peer pulls from our sender."""

    def announced(self, handler, count):
        """The sizes told, in order, and the end."""
        sizes = {}
        last = None
        while last is None or len(sizes) < count:
            kind, e = handler.events.get(timeout=20)
            if kind == "new":
                self.assertEqual((e.targetFragmentInstanceId, e.targetPlanNodeId, e.sourceFragmentInstanceId),
                                 (target(), "n", source()))
                sizes.update({e.startSequenceId + i: n for i, n in enumerate(e.blockSizes)})
            elif kind == "end":
                last = e.lastSequenceId
        self.assertEqual(last, count - 1)
        return [sizes[i] for i in range(count)]

    def pull(self, calls, start, end):
        """By the rules of a newer receiver. Gives the blocks and the number of calls."""
        blocks, partial, total, offset, count = [], b"", None, 0, 0
        while start + len(blocks) < end:
            r = calls.getDataBlock(types.GetDataBlockRequest(source(), start + len(blocks), end, 0, offset))
            count += 1
            self.assertTrue(r.tsBlocks)
            self.assertLessEqual(sum(map(len, r.tsBlocks)), LIMIT)
            for i, element in enumerate(r.tsBlocks):
                self.assertTrue(element)
                fragment = r.offset is not None and i == len(r.tsBlocks) - 1
                if not partial and fragment:
                    total = r.totalLength
                    self.assertIsNotNone(total)
                partial += element
                if not fragment:
                    self.assertIn(total, (None, len(partial)))
                    blocks.append(partial)
                    partial, total = b"", None
            offset = r.offset or 0
            self.assertEqual(offset, len(partial))
        self.assertEqual(partial, b"")
        return blocks, count

    def test_newer_receiver(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                handler = Handler()
                node = Node(self, "send", f"127.0.0.1:{Server(self, handler, protocol).port}", settings(self, protocol), *SIZES)
                node.go()
                self.assertEqual(self.announced(handler, len(SIZES)), SIZES)
                with Client(node.port, protocol) as calls:
                    blocks, count = self.pull(calls, 0, len(SIZES))
                    self.assertEqual(blocks, [block_bytes(i, n) for i, n in enumerate(SIZES)])
                    self.assertEqual(count, -(-sum(SIZES) // LIMIT))
                    self.assertEqual(self.pull(calls, 3, 6)[0], blocks[3:6])  # again, and another range
                    calls.onAcknowledgeDataBlockEvent(types.AcknowledgeDataBlockEvent(source(), 0, len(SIZES), 0))
                self.assertEqual(node.end(), (["done, 0 bytes held"], ""))

    def test_older_receiver(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                handler = Handler()
                node = Node(self, "send", f"127.0.0.1:{Server(self, handler, protocol).port}", settings(self, protocol), *SIZES)
                node.go()
                self.announced(handler, len(SIZES))
                with Client(node.port, protocol) as calls:
                    r = calls.getDataBlock(types.GetDataBlockRequest(source(), 0, len(SIZES), 0))
                    self.assertEqual((r.offset, r.totalLength), (None, None))
                    self.assertEqual(r.tsBlocks, [block_bytes(i, n) for i, n in enumerate(SIZES)])
                    for i in range(len(SIZES)):
                        calls.onAcknowledgeDataBlockEvent(types.AcknowledgeDataBlockEvent(source(), i, i + 1, 0))
                self.assertEqual(node.end(), (["done, 0 bytes held"], ""))

    def test_what_is_refused(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                handler = Handler()
                node = Node(self, "send", f"127.0.0.1:{Server(self, handler, protocol).port}", settings(self, protocol), 10, 2000)
                node.go()
                self.announced(handler, 2)
                with Client(node.port, protocol) as calls:
                    self.assertEqual(calls.testConnectionEmptyRPC().code, 200)
                    for start, end, index, offset in [(2, 3, 0, 0), (0, 1, 0, 10), (0, 1, 0, -1), (0, 1, 7, 0),
                                                      (1, 2, 0, 2147483647)]:
                        with self.assertRaises(TApplicationException) as raised:
                            calls.getDataBlock(types.GetDataBlockRequest(source(), start, end, index, offset))
                        self.assertEqual(raised.exception.type, TApplicationException.INTERNAL_ERROR)
                    with self.assertRaises(TApplicationException) as raised:
                        calls.unknownHere()
                    self.assertEqual(raised.exception.type, TApplicationException.UNKNOWN_METHOD)
                    other = types.FragmentInstanceId("q1", 1, "0")
                    self.assertEqual(calls.getDataBlock(types.GetDataBlockRequest(other, 0, 1, 0, 0)).tsBlocks, [])
                    self.assertEqual(calls.getDataBlock(types.GetDataBlockRequest(source(), 1, 1, 0, 0)).tsBlocks, [])
                    calls.onAcknowledgeDataBlockEvent(types.AcknowledgeDataBlockEvent(other, 0, 1, 0))
                    calls.onCloseSinkChannelEvent(types.CloseSinkChannelEvent(source(), 0))
                    self.assertEqual(calls.getDataBlock(types.GetDataBlockRequest(source(), 0, 1, 0, 0)).tsBlocks, [])
                node.end()


class Sender(Handler):
    """Serves blocks in one of three ways: "newer", "proposal" (no totalLength), "older" (knows no offset)."""
    def __init__(self, way):
        super().__init__()
        self.way, self.requests = way, []
        self.blocks = [block_bytes(i, n) for i, n in enumerate(SIZES)]

    def getDataBlock(self, req):
        self.requests.append(req)
        if self.way == "older":
            return types.GetDataBlockResponse(self.blocks[req.startSequenceId:req.endSequenceId])
        r = types.GetDataBlockResponse([])
        left, offset = LIMIT, req.offset
        for seq in range(req.startSequenceId, req.endSequenceId):
            part = self.blocks[seq][offset:offset + left]
            r.tsBlocks.append(part)
            left -= len(part)
            if offset + len(part) < len(self.blocks[seq]):
                r.offset = offset + len(part)
                if offset == 0 and self.way == "newer":
                    r.totalLength = len(self.blocks[seq])
                break
            offset = 0
            if left == 0:
                break
        return r


@unittest.skipIf(service is None, "no Thrift compiler")
class Sending(unittest.TestCase):
    """Our receiver pulls from the peer."""

    def exchange(self, sender, protocol, announce=None):
        node = Node(self, "receive", f"127.0.0.1:{Server(self, sender, protocol).port}", settings(self, protocol))
        with Client(node.port, protocol) as calls:
            node.go()
            if announce:
                announce(calls)
            else:
                calls.onNewDataBlockEvent(types.NewDataBlockEvent(target(), "n", source(), 0, [max(1, n // 2) for n in SIZES]))
                calls.onEndOfDataBlockEvent(types.EndOfDataBlockEvent(target(), "n", source(), len(SIZES) - 1))
            return node.end()[0]

    def test_all_senders(self):
        for protocol in PROTOCOLS:
            for way in ("newer", "proposal", "older"):
                with self.subTest(f"{protocol}, {way}"):
                    sender = Sender(way)
                    lines = self.exchange(sender, protocol)
                    self.assertEqual(lines, [f"block {i} {n}" for i, n in enumerate(SIZES)] + ["done, 0 bytes held"])
                    self.assertTrue(all(r.offset is not None for r in sender.requests))
                    acked = set()
                    while len(acked) < len(SIZES):
                        kind, e = sender.events.get(timeout=20)
                        self.assertEqual(kind, "ack")
                        acked.update(range(e.startSequenceId, e.endSequenceId))
                    self.assertEqual(acked, set(range(len(SIZES))))

    def test_events_out_of_order(self):
        def announce(calls):
            calls.onEndOfDataBlockEvent(types.EndOfDataBlockEvent(target(), "n", source(), len(SIZES) - 1))
            for i in (4, 5, 6, 2, 3, 3, 0, 1):
                calls.onNewDataBlockEvent(types.NewDataBlockEvent(target(), "n", source(), i, [SIZES[i]]))
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                lines = self.exchange(Sender("newer"), protocol, announce)
                self.assertEqual(lines[:-1], [f"block {i} {n}" for i, n in enumerate(SIZES)])

    def test_empty_stream(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                lines = self.exchange(Sender("newer"), protocol, lambda calls: calls.onEndOfDataBlockEvent(
                    types.EndOfDataBlockEvent(target(), "n", source(), -1)))
                self.assertEqual(lines, ["done, 0 bytes held"])

    def test_channel_gone(self):
        class Gone(Sender):
            def getDataBlock(self, req):
                return types.GetDataBlockResponse([])
        self.assertTrue(self.exchange(Gone("newer"), "binary")[-1].startswith("SL_ENOTFOUND"))

    def test_errors_are_tried_again(self):
        class Failing(Sender):
            def getDataBlock(self, req):
                if len(self.requests) in (0, 5):
                    self.requests.append(req)
                    raise TApplicationException(TApplicationException.INTERNAL_ERROR, "not now")
                return super().getDataBlock(req)
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                self.assertEqual(self.exchange(Failing("newer"), protocol)[-1], "done, 0 bytes held")

    def test_lies_fail_at_once(self):
        class Lying(Sender):
            def getDataBlock(self, req):
                r = super().getDataBlock(req)
                if r.totalLength:
                    r.totalLength += 1
                return r
        sender = Lying("newer")
        self.assertTrue(self.exchange(sender, "binary")[-1].startswith("SL_ECORRUPT"))
        self.assertEqual(len([r for r in sender.requests if r.startSequenceId == 3 and r.offset]), 1)


class InJava(unittest.TestCase):
    """A peer in Java on the other side, as both ends."""

    def peer(self, *args):
        p = java_process(*args)
        self.addCleanup(lambda: (p.kill(), p.communicate()))
        return p, int(p.stdout.readline().split()[1])

    def they_receive(self, protocol, classpath, main, *args):
        p, port = self.peer(classpath, main, "receive", protocol, *args)
        node = Node(self, "send", f"127.0.0.1:{port}", settings(self, protocol), *SIZES)
        p.stdin.write(f"{node.port}\n")
        p.stdin.flush()
        node.go()
        lines = p.communicate(timeout=60)[0].splitlines()
        self.assertEqual(lines[:len(SIZES)], [f"block {i} {n}" for i, n in enumerate(SIZES)])
        self.assertEqual(node.end(), (["done, 0 bytes held"], ""))
        return lines[len(SIZES):]

    def they_send(self, protocol, classpath, main, *args):
        p, port = self.peer(classpath, main, "send", protocol, *args, *SIZES)
        node = Node(self, "receive", f"127.0.0.1:{port}", settings(self, protocol))
        node.go()
        p.stdin.write(f"{node.port}\n")
        p.stdin.flush()
        self.assertEqual(p.communicate(timeout=60)[0].splitlines(), ["acknowledged"])
        self.assertEqual(node.end()[0], [f"block {i} {n}" for i, n in enumerate(SIZES)] + ["done, 0 bytes held"])

    def test_iotdb_receives(self):
        """IoTDB's own classes, from before the change."""
        classpath = iotdb()
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                self.assertEqual(self.they_receive(protocol, classpath, "Exchange"), ["status 200"])

    def test_iotdb_sends(self):
        classpath = iotdb()
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                self.they_send(protocol, classpath, "Exchange")

    def test_thrift_receives(self):
        """Thrift's classes from our interface file, in fragments."""
        classpath = thrift()
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                self.assertEqual(self.they_receive(protocol, classpath, "Fragments", LIMIT), [])

    def test_thrift_sends(self):
        classpath = thrift()
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                self.they_send(protocol, classpath, "Fragments", 777)


if __name__ == "__main__":
    unittest.main()
