"""inspect of log files: every block, its index, what is damaged; any bytes."""
import base64
import json
import os
import random
import struct
import zipfile
import zlib

import sluice
from sluice import Case

SCHEMA = json.dumps({"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields":
                     [{"name": n, "type": ["null", "string"], "doc": "", "default": None} for n in
                      ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name")] +
                     [{"name": "id", "type": ["null", "string"], "default": None}, {"name": "v", "type": ["null", "long"], "default": None}]},
                    separators=(",", ":"))
INSTANT = "20260102030405678"
FILTER = bytes.fromhex("ffffffff0000001f01000000574a4b6098d71eee2a22eb53")


def entries(pairs):
    out = struct.pack(">i", len(pairs))
    for key, value in pairs:
        value = value if isinstance(value, bytes) else value.encode()
        out += struct.pack(">ii", key, len(value)) + value
    return out


def block(kind, header, content, footer=(), version=1):
    header, footer = entries(header), entries(footer)
    length = 4 + 4 + len(header) + 8 + len(content) + len(footer) + 8
    return (b"#HUDI#" + struct.pack(">qii", length, version, kind) + header + struct.pack(">q", len(content)) + content + footer +
            struct.pack(">q", length + 6))


def index(n=2, low="key1", high="key2", crc=None):
    text = base64.b64encode(FILTER).decode()
    crc = zlib.crc32(f"{low}\0{high}\0{text}".encode()) if crc is None else crc
    return json.dumps({"sluice_log_index": 1, "n": n, "hoodie_min_record_key": low, "hoodie_max_record_key": high,
                       "hoodie_bloom_filter_type_code": "SIMPLE", "org.apache.hudi.bloomfilter": text, "crc32": f"{crc:08x}"},
                      separators=(",", ":"))


def rows(n=2):
    return struct.pack(">ii", 3, n) + b"".join(struct.pack(">i", 3) + b"abc" for _ in range(n))


def data(**kw):
    return block(3, [(0, INSTANT), (2, SCHEMA), (3, index(**kw))], rows())


DELETES = bytes.fromhex("000000030000001604" "02086b6579310200040002086b65793202000400" "00")


class InspectLog(Case):
    def write(self, content, name=".f-0_20260102030405678.log.1_0-0-0"):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def items(self, content):
        return self.ok("inspect", "--json", self.write(content)).json()["items"]

    def test_blocks(self):
        content = (data() + block(1, [(0, INSTANT), (2, SCHEMA)], DELETES) +
                   block(0, [(0, "20260102030405999"), (1, INSTANT), (3, "0")], b"") +
                   block(3, [(0, INSTANT), (2, SCHEMA)], rows(1), [(3, index(n=1))]))
        items = self.items(content)
        self.assertEqual([i["type"] for i in items], ["AVRO_DATA", "DELETE", "COMMAND", "AVRO_DATA"])
        self.assertEqual([i["offset"] for i in items][:2], [0, len(data())])
        first = items[0]
        self.assertEqual(first["header"]["entries"]["INSTANT_TIME"], INSTANT)
        self.assertEqual([c["type"] for c in first["header"]["entries"]["SCHEMA"]["columns"]], ["STRING", "BIGINT"])
        self.assertEqual(first["index"]["place"], "header")
        self.assertEqual((first["index"]["records"], first["index"]["min"], first["index"]["max"]), (2, "key1", "key2"))
        self.assertEqual((first["index"]["filter"]["bits"], first["index"]["filter"]["hashes"]), (87, 31))
        self.assertLess(first["index"]["filter"]["falsePositiveRate"], 1e-8)
        self.assertEqual(first["content"]["records"], 2)
        self.assertEqual((items[1]["content"]["deletes"], items[1]["content"]["withEventTime"]), (2, 0))
        self.assertEqual(items[2]["header"]["entries"]["TARGET_INSTANT_TIME"], INSTANT)
        self.assertNotIn("index", items[2])
        self.assertEqual(items[3]["index"]["place"], "footer")
        text = self.ok("inspect", self.write(content)).out
        for part in ("block 0: offset 0, 899 bytes, AVRO_DATA", "keys \"key1\" to \"key2\"", "SIMPLE filter of 11 bytes", "2 deletes",
                     "TARGET_INSTANT_TIME " + INSTANT, "in the footer: 1 records"):
            self.assertIn(part, text)

    def test_parquet(self):
        """Rows and index are in the footer of the Parquet file that the block holds."""
        pairs = [(b"hoodie_min_record_key", b"a"), (b"hoodie_max_record_key", b"b"), (b"sluice.log.index", b"1"), (b"sluice.log.records", b"2")]
        footer = b"\x15\x02\x19\x0c\x16\x04\x19\x0c\x19" + bytes([len(pairs) << 4 | 12])
        for key, value in pairs:
            footer += b"\x18" + bytes([len(key)]) + key + b"\x18" + bytes([len(value)]) + value + b"\0"
        footer += b"\0"
        file = b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"
        item = self.items(block(5, [(0, INSTANT), (2, SCHEMA)], file))[0]
        self.assertEqual(item["content"]["records"], 2)
        self.assertEqual(item["index"], {"place": "parquet", "records": 2, "min": "a", "max": "b"})
        self.assertIn("problem", self.items(block(5, [(0, INSTANT), (2, SCHEMA)], file[:-1]))[0]["content"])

    def test_index_not_used(self):
        self.assertIn("not used", self.items(data(n=3))[0]["index"]["problem"])
        self.assertIn("checksum", self.items(data(crc=1))[0]["index"]["problem"])
        self.assertIn("index", self.items(block(3, [(0, INSTANT), (2, SCHEMA), (3, "0")], rows()))[0])
        self.assertNotIn("index", self.items(block(3, [(0, INSTANT), (2, SCHEMA)], rows()))[0])

    def test_damage(self):
        one = data()
        items = self.items(one + one[:500])
        self.assertEqual(items[1], {"kind": "damage", "offset": len(one), "bytes": 500, "wasWhole": False, "problem": items[1]["problem"]})
        changed = bytearray(one)
        changed[13] ^= 1  # the length
        items = self.items(bytes(changed) + one)
        self.assertEqual([(i["kind"], i["offset"]) for i in items], [("damage", 0), ("block", len(one))])
        self.assertTrue(items[0]["wasWhole"])
        items = self.items(block(9, [], b"") + one + block(3, [], b"", version=2))
        self.assertEqual([i["kind"] for i in items], ["unsupported", "block", "unsupported"])
        text = self.ok("inspect", self.write(one + b"#HUD")).out
        self.assertIn(f"damage: offset {len(one)}, 4 bytes, cut off", text)
        self.assertIn("no blocks", self.ok("inspect", self.write(b"")).out)

    def test_any_bytes(self):
        """No input ends the program otherwise than with an answer."""
        rng = random.Random(sluice.SEED)
        whole = data() + block(1, [(0, INSTANT), (2, SCHEMA)], DELETES) + block(5, [(0, INSTANT), (2, SCHEMA)], b"PAR1" + bytes(40) + b"PAR1")
        for _ in range(25):
            content = bytearray(whole)
            for _ in range(rng.randrange(1, 20)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            path = self.write(bytes(content))
            self.ok("inspect", path)
            self.ok("inspect", "--json", path).json()
        self.ok("inspect", self.write(rng.randbytes(5000)))
        self.ok("inspect", self.write(b"#HUDI#" * 2000))
        self.ok("inspect", self.write(data(), name="copied"))

    def test_properties(self):
        path = self.write(b"#x\nhoodie.table.name=t\nhoodie.table.create.schema={\"a\"\\:1}\n", name="hoodie.properties")
        doc = self.ok("inspect", path).json()
        self.assertEqual((doc["type"], doc["properties"]["hoodie.table.create.schema"]), ("properties", "{\"a\":1}"))

    def test_fixtures(self):
        folder = os.path.join(os.environ.get("SLUICE_FIXTURES", ""), "hudi")
        if not os.path.isdir(folder):
            self.skipTest("no fixtures")
        found = 0
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".zip"):
                continue
            with zipfile.ZipFile(os.path.join(folder, name)) as z:
                for member in z.namelist():
                    base = os.path.basename(member)
                    if "__MACOSX" in member or base.startswith("._") or base.endswith(".crc") or ".log." not in base:
                        continue
                    items = self.items(z.read(member))
                    self.assertEqual([i["kind"] for i in items], ["block"])
                    self.assertNotIn("problem", items[0]["content"])
                    self.assertNotIn("index", items[0])
                    found += 1
        self.assertGreater(found, 10)
