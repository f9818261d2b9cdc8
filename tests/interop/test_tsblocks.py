"""TsBlocks between Sluice, IoTDB's Python client and the reference classes of TsFile in Java."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy as np
from iotdb.tsfile.utils.tsblock_serde import deserialize

from java_peer import iotdb, java

BUILD = os.path.dirname(os.path.dirname(os.path.realpath(os.environ["SLUICE_BIN"])))
TSBLOCKS = os.path.join(BUILD, "tests", "interop", "tsblocks")
NUMBERS = {1: ">i4", 2: ">i8", 3: ">i4", 4: ">i8"}


def ours(*args):
    return subprocess.run([TSBLOCKS, *args], check=True, capture_output=True, text=True).stdout


def python_values(values, nulls, kind, rows):
    """As the program prints them. The client gives the values that are not null (booleans: all), and runs of numbers as raw bytes."""
    if kind in NUMBERS:
        values = np.frombuffer(values if isinstance(values, bytes) else values.tobytes(), NUMBERS[kind])
    values = [v.hex() for v in values] if kind == 5 else values.tolist()
    if nulls is None:
        return values
    left = iter([v for v, null in zip(values, nulls) if not null] if kind == 0 else values)
    return [None if nulls[row] else next(left) for row in range(rows)]


def by_python(path):
    with open(path, "rb") as f:
        data = f.read()
    times, columns, nulls, rows = deserialize(memoryview(data))
    types = list(data[4:4 + len(columns)])
    return {"times": python_values(times, None, 2, int(rows)), "types": types,
            "columns": [python_values(c, n, t, int(rows)) for c, n, t in zip(columns, nulls, types)]}


class TsBlocks(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-tsblocks.")
        self.addCleanup(shutil.rmtree, self.folder)

    def written(self):
        ours("write", self.folder)
        return sorted((os.path.join(self.folder, n) for n in os.listdir(self.folder)), key=lambda p: (len(p), p))

    def test_python_client_reads_ours(self):
        files = self.written()
        for path, line in zip(files, ours("print", *files).splitlines()):
            with self.subTest(os.path.basename(path)):
                self.assertEqual(by_python(path), json.loads(line))

    def test_reference_reads_and_writes_the_same_bytes(self):
        files = self.written()
        self.assertEqual(java(iotdb(), "TsBlocks", "read", *files), ours("print", *files))
        for path in files:
            with self.subTest(os.path.basename(path)), open(path, "rb") as f, open(path + ".java", "rb") as g:
                self.assertEqual(f.read().hex(), g.read().hex())

    def test_blocks_of_the_reference(self):
        """Dictionaries, runs, null arrays without a null, of every type."""
        lines = java(iotdb(), "TsBlocks", "make", self.folder)
        files = [os.path.join(self.folder, f"{i}.made") for i in range(len(os.listdir(self.folder)))]
        self.assertTrue(any(b"\5" in pathlib.Path(f).read_bytes()[14:21] for f in files))
        self.assertEqual(ours("print", *files), lines)


if __name__ == "__main__":
    unittest.main()
