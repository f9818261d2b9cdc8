"""Tables written by Sluice as pypaimon and pypaimon-rust read them, and theirs as Sluice reads them."""
import datetime
import glob
import json
import os
import unittest
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
from peers import Exchange

EVERY_TYPE = """CREATE TABLE t (id BIGINT NOT NULL, b BOOLEAN, i8 TINYINT, i16 SMALLINT, i INT, f FLOAT, d DOUBLE,
    m DECIMAL(10,2), m2 DECIMAL(30,4), s STRING, y BYTES, dt DATE, ts3 TIMESTAMP(3), ts TIMESTAMP(6),
    lz TIMESTAMP(6) WITH LOCAL TIME ZONE, a ARRAY<INT>, mp MAP<STRING, INT>, r ROW<x INT, y STRING>, pt STRING)
    PARTITIONED BY (pt)"""
ROW_1 = """(1, true, 1, 2, 3, 1.5, 2.5, 12.34, 1234567890123456789012.5678, 'hé', 'ab'::BLOB, DATE '2024-01-02',
    TIMESTAMP '2024-01-02 03:04:05.123', TIMESTAMP '2024-01-02 03:04:05.123456',
    TIMESTAMPTZ '2024-01-02 03:04:05.123456+00', [1, NULL, 2], MAP {'k': 7}, {x: 1, y: 'z'}, 'a')"""
ROW_2 = "(2" + ", NULL" * 17 + ", 'b c')"
UTC = datetime.timezone.utc
EXPECT_1 = dict(id=1, b=True, i8=1, i16=2, i=3, f=1.5, d=2.5, m=Decimal("12.34"),
                m2=Decimal("1234567890123456789012.5678"), s="hé", y=b"ab", dt=datetime.date(2024, 1, 2),
                ts3=datetime.datetime(2024, 1, 2, 3, 4, 5, 123000), ts=datetime.datetime(2024, 1, 2, 3, 4, 5, 123456),
                lz=datetime.datetime(2024, 1, 2, 3, 4, 5, 123456, tzinfo=UTC), a=[1, None, 2], mp=[("k", 7)],
                r={"x": 1, "y": "z"}, pt="a")
THEIRS = pa.schema([("id", pa.int64()), ("s", pa.string()), ("m", pa.decimal128(10, 2)), ("dt", pa.date32()),
                    ("ts", pa.timestamp("us")), ("a", pa.list_(pa.int32())), ("pt", pa.string())])


def their_row(i):
    return dict(id=i, s=None if i % 3 == 0 else f"s{i}", m=Decimal("1.25") * i,
                dt=datetime.date(2024, 1, 1) + datetime.timedelta(i), ts=datetime.datetime(2024, 1, 1, 0, 0, i, 5),
                a=[i, None], pt="x" if i % 2 else "y z")


class Peers(Exchange):
    def write_theirs(self, rows):
        self.create_theirs("p", THEIRS, ["pt"])
        self.write_pypaimon("p", rows, THEIRS)

    def test_every_type_is_read(self):
        self.sql(f"{EVERY_TYPE}; INSERT INTO t VALUES {ROW_1}, {ROW_2}")
        one, two = self.both("t")
        self.assertEqual(one, EXPECT_1)
        self.assertEqual(two, {k: 2 if k == "id" else "b c" if k == "pt" else None for k in EXPECT_1})

    def test_changes_are_read(self):
        self.sql("CREATE TABLE c (id INT, v STRING, pt INT) PARTITIONED BY (pt)")
        for k in range(6):
            self.sql(f"INSERT INTO c SELECT i, 'v' || i, i % 2 FROM range({k * 10}, {k * 10 + 10}) r(i)")
        expect = {i: f"v{i}" for i in range(60)}
        self.assertEqual({r["id"]: r["v"] for r in self.both("c")}, expect)
        self.sql("UPDATE c SET v = 'new' WHERE id % 7 = 0; DELETE FROM c WHERE id BETWEEN 20 AND 29")
        expect = {i: "new" if i % 7 == 0 else v for i, v in expect.items() if not 20 <= i <= 29}
        self.assertEqual({r["id"]: r["v"] for r in self.both("c")}, expect)
        self.sluice("compact", "c", "--full")
        self.assertEqual({r["id"]: r["v"] for r in self.both("c")}, expect)
        self.sql("UPDATE c SET pt = 5 WHERE id < 3; DELETE FROM c WHERE pt = 1")
        self.assertEqual({r["id"]: r["pt"] for r in self.both("c")},
                         {i: 5 if i < 3 else 0 for i in expect if i < 3 or i % 2 == 0})
        self.sluice("verify", "c")

    def test_schema_changes_are_read(self):
        self.sql("CREATE TABLE e (id INT, a INT, b STRING); INSERT INTO e VALUES (1, 10, 'x')")
        self.sql("ALTER TABLE e RENAME COLUMN b TO c; ALTER TABLE e ADD COLUMN d INT; INSERT INTO e VALUES (2, 20, 'y', 7)")
        expect = [dict(id=1, a=10, c="x", d=None), dict(id=2, a=20, c="y", d=7)]
        self.assertEqual(self.both("e"), expect)
        self.assertEqual(self.ours("SELECT * FROM e ORDER BY id"), expect)

    def test_odd_partition_names_are_read(self):
        self.sql("CREATE TABLE o (id INT, pt STRING) PARTITIONED BY (pt)")
        names = ["plain", "with space", "ä", "a+b", "1,2"]
        self.sql("INSERT INTO o VALUES " + ", ".join(f"({i}, '{n}')" for i, n in enumerate(names)))
        self.assertEqual([r["pt"] for r in self.both("o")], names)

    def test_theirs_is_read(self):
        self.write_theirs([their_row(i) for i in range(10)])
        got = self.ours("SELECT id, s, m::VARCHAR AS m, dt::VARCHAR AS dt, ts::VARCHAR AS ts, a, pt FROM p ORDER BY id")
        self.assertEqual(got, [{**their_row(i), "m": str(their_row(i)["m"].quantize(Decimal("0.01"))),
                                "dt": str(their_row(i)["dt"]), "ts": str(their_row(i)["ts"])} for i in range(10)])
        self.assertEqual(len(self.ours("SELECT id FROM p WHERE pt = 'x' AND id > 4")), 3)
        self.sluice("verify", "p")

    def test_both_write_in_turn(self):
        for turn in range(3):
            self.write_theirs([their_row(i) for i in range(turn * 10, turn * 10 + 5)])
            self.sql(f"INSERT INTO p SELECT i, 'ours', 1.5, DATE '2024-01-01', TIMESTAMP '2024-01-01 00:00:00', [1], 'x' "
                     f"FROM range({turn * 10 + 5}, {turn * 10 + 10}) r(i)")
        self.assertEqual([r["id"] for r in self.both("p")], list(range(30)))
        self.sql("UPDATE p SET s = 'changed' WHERE id = 0; DELETE FROM p WHERE id = 29")
        self.sluice("compact", "p", "--full")
        rows = self.both("p")
        self.assertEqual([r["id"] for r in rows], list(range(29)))
        self.assertEqual(rows[0]["s"], "changed")
        self.sluice("verify", "p")

    def test_rows_loaded_and_compacted_are_read(self):
        lines = "\n".join(json.dumps({"id": i, "v": i * 0.5, "pt": f"p{i % 3}"}) for i in range(5000))
        path = os.path.join(self.wh, "in.ndjson")
        with open(path, "w") as f:
            f.write(lines + "\n")
        self.sluice("ingest", "n", path, "--create", "--partition-by", "pt", "--commit-rows", "700", "--quiet")
        self.sluice("compact", "n")
        self.assertEqual([(r["id"], r["v"]) for r in self.both("n")], [(i, i * 0.5) for i in range(5000)])

    def test_rows_compacted_by_their_load_are_read(self):
        path = os.path.join(self.wh, "in.ndjson")
        with open(path, "w") as f:
            f.writelines(json.dumps({"id": i, "v": i * 0.5}) + "\n" for i in range(5000))
        self.sluice("ingest", "n", path, "--create", "--commit-rows", "500", "--compact", "--identity", "one", "--quiet")
        kinds = self.ours("SELECT commit_identifier AS n, commit_kind AS kind FROM n$snapshots ORDER BY snapshot_id DESC LIMIT 2")
        self.assertIn({"n": 10, "kind": "COMPACT"}, kinds)
        self.assertEqual([(r["id"], r["v"]) for r in self.both("n")], [(i, i * 0.5) for i in range(5000)])
        self.sluice("verify", "n")

    def test_names_that_differ_only_in_case(self):
        schema = pa.schema([("id", pa.int64()), ("A", pa.int32()), ("a", pa.int32())])
        self.create_theirs("k", schema)
        self.write_pypaimon("k", [dict(id=1, A=1, a=10), dict(id=2, A=2, a=20)], schema)
        first = self.data_files("k")
        self.write_pypaimon("k", [dict(id=3, A=3, a=30)], schema)
        self.assertEqual(self.ours("SELECT * FROM k ORDER BY id"), [dict(id=i, A=i, a=10 * i) for i in (1, 2, 3)])
        # Another engine may write the columns in another order.
        for path in set(self.data_files("k")) - set(first):
            pq.write_table(pq.read_table(path).select(["a", "id", "A"]), path)
        self.assertEqual(self.ours("SELECT a, k.A, id FROM k WHERE a > 10 ORDER BY A"), [dict(a=20, A=2, id=2), dict(a=30, A=3, id=3)])
        self.refused("INSERT INTO k VALUES (4, 4, 40)", "but for its case", "RENAME COLUMN")
        self.sql("ALTER TABLE k RENAME COLUMN a TO b; INSERT INTO k VALUES (4, 4, 40)")
        self.assertEqual(self.ours("SELECT * FROM k ORDER BY id"), [dict(id=i, A=i, b=10 * i) for i in (1, 2, 3, 4)])

    def data_files(self, table):
        return sorted(glob.glob(os.path.join(self.wh, "default.db", table, "**", "data-*.parquet"), recursive=True))


if __name__ == "__main__":
    unittest.main()
