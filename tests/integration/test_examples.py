"""The examples in C: built with the tests, run here."""
import os
import re
import subprocess
import unittest

import sluice
from sluice import Case

FOLDER = os.path.join(os.path.dirname(os.path.abspath(sluice.BIN)), "examples")


class Examples(Case):
    def example(self, name, *args, status=0):
        path = os.path.join(FOLDER, "example_" + name)
        if not os.path.exists(path):
            self.skipTest("the examples are not built")
        p = subprocess.run([path, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        self.assertEqual(p.returncode, status, p)
        for mark in sluice.SANITIZER_STATUS:
            self.assertNotIn(mark, p.stderr.decode())
        return p.stdout.decode()

    def test_write_read_upkeep(self):
        out = self.example("write_rows", self.warehouse)
        self.assertIn("snapshot 1", out)
        self.assertIn("snapshot 2", out)
        out = self.example("read_table", self.warehouse, "SELECT sensor, value FROM readings ORDER BY sensor")
        self.assertEqual(out, "sensor\tvalue\na\t1.5\nb\t0.0\n")
        out = self.example("upkeep", self.warehouse, "readings")
        self.assertIn("sound: 3 files with 3 rows", out)

    def start(self, name, *args):
        path = os.path.join(FOLDER, "example_" + name)
        if not os.path.exists(path):
            self.skipTest("the examples are not built")
        p = subprocess.Popen([path, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p

    def exchange(self, size):
        """The last lines of sender and receiver."""
        sender = self.start("exchange_send", "127.0.0.1:0", str(size))
        address = re.search(r"127\.0\.0\.1:\d+", sender.stdout.readline()).group()
        receiver = self.start("exchange_receive", "127.0.0.1:0", address)
        sent = sender.communicate(re.search(r"127\.0\.0\.1:\d+", receiver.stdout.readline()).group() + "\n", timeout=120)
        received = receiver.communicate(timeout=120)
        self.assertEqual((sender.returncode, receiver.returncode), (0, 0), (sent, received))
        return sent[0], received[0]

    def test_exchange(self):
        sent, received = self.exchange(300000000)
        self.assertIn("received 300000000 bytes\nall there", received)
        self.assertIn("sent", sent)

    def test_errors(self):
        self.example("read_table", self.warehouse, "SELECT * FROM nothing", status=4)
        self.example("read_table", status=2)


if __name__ == "__main__":
    unittest.main()
