"""What Sluice, pypaimon and pypaimon-rust do in turn on one table: types, partitions, history, deletes, filters."""
import datetime
import os
import unittest
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
from peers import Exchange
from pypaimon import CatalogFactory
from pypaimon.filesystem.local_file_io import LocalFileIO
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

UTC = datetime.timezone.utc
KV = pa.schema([("id", pa.int32()), ("v", pa.string()), ("pt", pa.string())])
NAMES = ["plain", "with space", "a/b", "p%q", "k=v", "c:d", 'q"x', "st*r", "wh?t", "b\\s", "[z]", "{y}", "^", "#1", "ü",
         "new\nline", "'", "", "  ", None]
FOLDERS = ["pt=%231", "pt=%27", "pt=%5Bz%5D", "pt=%5E", "pt=%7By%7D", "pt=__DEFAULT_PARTITION__", "pt=a%2Fb", "pt=b%5Cs",
           "pt=c%3Ad", "pt=k%3Dv", "pt=new%0Aline", "pt=p%25q", "pt=plain", "pt=q%22x", "pt=st%2Ar", "pt=wh%3Ft",
           "pt=with space", "pt=ü"]
EVERY = pa.schema([
    ("id", pa.int64()), ("b", pa.bool_()), ("i8", pa.int8()), ("i16", pa.int16()), ("i", pa.int32()), ("f", pa.float32()),
    ("d", pa.float64()), ("m9", pa.decimal128(9, 2)), ("m18", pa.decimal128(18, 3)), ("m38", pa.decimal128(38, 4)),
    ("s", pa.string()), ("y", pa.binary()), ("dt", pa.date32()), ("tm", pa.time32("ms")), ("ts0", pa.timestamp("s")),
    ("ts3", pa.timestamp("ms")), ("ts6", pa.timestamp("us")), ("lz3", pa.timestamp("ms", "UTC")),
    ("lz6", pa.timestamp("us", "UTC")), ("a", pa.list_(pa.string())), ("aa", pa.list_(pa.list_(pa.int32()))),
    ("mp", pa.map_(pa.string(), pa.int64())), ("r", pa.struct([("x", pa.int32()), ("n", pa.struct([("z", pa.string())]))]))])
LEAP = datetime.datetime(2024, 2, 29, 23, 59, 59)
OLD = datetime.datetime(1969, 12, 31, 23, 59, 59)
EVERY_ROWS = [
    dict(id=1, b=True, i8=127, i16=32767, i=2**31 - 1, f=1.5, d=2.25, m9=Decimal("9999999.99"), m18=Decimal("-1.001"),
         m38=Decimal("9" * 34 + ".9999"), s="hé 日本 🦆", y=b"\0\xff", dt=datetime.date(2024, 2, 29),
         tm=datetime.time(23, 59, 59, 999000), ts0=LEAP, ts3=LEAP.replace(microsecond=123000),
         ts6=LEAP.replace(microsecond=123456), lz3=LEAP.replace(microsecond=1000, tzinfo=UTC),
         lz6=LEAP.replace(microsecond=1, tzinfo=UTC), a=["x", None, ""], aa=[[1], [], None], mp=[("k", 1), ("", None)],
         r=dict(x=1, n=dict(z="q"))),
    dict(id=2),
    dict(id=3, b=False, i8=-128, i16=-32768, i=-2**31, f=-0.5, d=-1e300, m9=Decimal("-0.01"), m18=Decimal("0.000"),
         m38=Decimal("-1.0000"), s="", y=b"", dt=datetime.date(1, 1, 1), tm=datetime.time(0), ts0=OLD, ts3=OLD, ts6=OLD,
         lz3=OLD.replace(tzinfo=UTC), lz6=OLD.replace(tzinfo=UTC), a=[], aa=[], mp=[], r=dict(x=None, n=None))]
EVERY_OURS = [
    dict(id=1, b=True, i8=127, i16=32767, i=2**31 - 1, f="1.5", d="2.25", m9="9999999.99", m18="-1.001",
         m38="9" * 34 + ".9999", s="hé 日本 🦆", y="\\x00\\xFF", dt="2024-02-29", tm="23:59:59.999",
         ts0="2024-02-29 23:59:59", ts3="2024-02-29 23:59:59.123", ts6="2024-02-29 23:59:59.123456",
         lz3="2024-02-29 23:59:59.001+00", lz6="2024-02-29 23:59:59.000001+00", a=["x", None, ""], aa=[[1], [], None],
         mp={"k": 1, "": None}, r=dict(x=1, n=dict(z="q"))),
    {k: 2 if k == "id" else None for k in EVERY.names},
    dict(id=3, b=False, i8=-128, i16=-32768, i=-2**31, f="-0.5", d="-1e+300", m9="-0.01", m18="0.000", m38="-1.0000", s="",
         y="", dt="0001-01-01", tm="00:00:00", ts0="1969-12-31 23:59:59", ts3="1969-12-31 23:59:59",
         ts6="1969-12-31 23:59:59", lz3="1969-12-31 23:59:59+00", lz6="1969-12-31 23:59:59+00", a=[], aa=[], mp={},
         r=dict(x=None, n=None))]
# type in SQL, type in Arrow, value, literal, folder with partition.legacy-name = true, and = false
PARTITIONS = [
    ("DATE", pa.date32(), datetime.date(2024, 1, 2), "DATE '2024-01-02'", "19724", "2024-01-02"),
    ("BOOLEAN", pa.bool_(), True, "true", "true", "true"),
    ("BIGINT", pa.int64(), -5, "-5", "-5", "-5"),
    ("DECIMAL(10,2)", pa.decimal128(10, 2), Decimal("1.50"), "1.50", "1.50", "1.50"),
    ("TIMESTAMP(3)", pa.timestamp("ms"), datetime.datetime(2024, 1, 2, 3, 4), "TIMESTAMP '2024-01-02 03:04:00'",
     "2024-01-02T03%3A04", "2024-01-02 03%3A04%3A00.000"),
    ("TIMESTAMP(6)", pa.timestamp("us"), datetime.datetime(2024, 1, 2, 3, 4, 5), "TIMESTAMP '2024-01-02 03:04:05'",
     "2024-01-02T03%3A04%3A05", "2024-01-02 03%3A04%3A05.000000")]


def kv(ids, v="v"):
    return [dict(id=i, v=f"{v}{i}", pt="ab"[i % 2]) for i in ids]


class Types(Exchange):
    def test_every_type_of_theirs_is_read(self):
        text = ", ".join(f"{c}::VARCHAR AS {c}" if c in ("f", "d", "m9", "m18", "m38") else c for c in EVERY.names)
        for who, write in self.writers():
            with self.subTest(who):
                self.create_theirs(who, EVERY)
                write(who, EVERY_ROWS, EVERY)
                self.assertEqual(self.ours(f"SELECT {text} FROM {who} ORDER BY id"), EVERY_OURS)
                self.both(who)
                self.sluice("verify", who)

    def test_time_and_ltz3_are_not_written(self):
        for kind in ("TIME", "TIME(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(0) WITH LOCAL TIME ZONE"):
            self.refused(f"CREATE TABLE n (v {kind}); INSERT INTO n SELECT NULL", "cannot be written")

    def test_forms_of_time_and_ltz_that_both_read(self):
        """The peers take a plain INT32 for TIME, and milliseconds without the mark of UTC for LTZ(3)."""
        lz = EVERY_ROWS[0]["lz3"]
        forms = {"TIME(3)": (pa.array([11045123], pa.int32()), pa.time32("ms"), datetime.time(3, 4, 5, 123000)),
                 "TIMESTAMP_LTZ(3)": (pa.array([lz.replace(tzinfo=None)], pa.timestamp("ms")), pa.timestamp("ms", "UTC"), lz)}
        for k, (stored, arrow, value) in enumerate(forms.values()):
            def write_parquet(io, path, data, *args, stored=stored, **options):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                pq.write_table(pa.table({"id": data.column("id"), "v": stored}), path)

            schema = pa.schema([("id", pa.int32()), ("v", arrow)])
            self.create_theirs(f"f{k}", schema)
            real, LocalFileIO.write_parquet = LocalFileIO.write_parquet, write_parquet
            try:
                self.write_pypaimon(f"f{k}", [dict(id=1, v=value)], schema)
            finally:
                LocalFileIO.write_parquet = real
            self.assertEqual(self.both(f"f{k}"), [dict(id=1, v=value)])


class Partitions(Exchange):
    def test_escaped_names(self):
        values = ", ".join(f"({i}, " + ("NULL" if n is None else "'" + n.replace("'", "''") + "'") + ")"
                           for i, n in enumerate(NAMES))
        self.sql(f"CREATE TABLE o (id INT, pt STRING) PARTITIONED BY (pt); INSERT INTO o VALUES {values}")
        self.assertEqual([r["pt"] for r in self.both("o")], NAMES)
        self.assertEqual(self.folders("o"), FOLDERS)
        schema = pa.schema([("id", pa.int32()), ("pt", pa.string())])
        for who, write in self.writers():
            with self.subTest(who):
                self.create_theirs(who, schema, ["pt"])
                write(who, [dict(id=i, pt=n) for i, n in enumerate(NAMES)], schema)
                self.assertEqual([r["pt"] for r in self.ours(f"SELECT * FROM {who} ORDER BY id")], NAMES)
                self.assertEqual(self.folders(who), FOLDERS)

    def test_types_and_both_spellings(self):
        for k, (sql, arrow, value, literal, *folders) in enumerate(PARTITIONS):
            for legacy, folder in zip(("true", "false"), folders):
                ours = f"o{k}{legacy}"
                self.sql(f"CREATE TABLE {ours} (id INT, pt {sql}) PARTITIONED BY (pt) WITH ('partition.legacy-name'='{legacy}'); "
                         f"INSERT INTO {ours} VALUES (1, {literal}), (2, NULL)")
                self.assertEqual([r["pt"] for r in self.both(ours)], [value, None])
                expect = sorted(["pt=__DEFAULT_PARTITION__", "pt=" + folder])
                self.assertEqual(self.folders(ours), expect)
                schema = pa.schema([("id", pa.int32()), ("pt", arrow)])
                for who, write in self.writers():
                    with self.subTest(who, type=sql, legacy=legacy):
                        table = f"{who}{k}{legacy}"
                        self.create_theirs(table, schema, ["pt"], {"partition.legacy-name": legacy})
                        write(table, [dict(id=1, pt=value), dict(id=2, pt=None)], schema)
                        self.assertEqual(self.folders(table), expect)
                        self.assertEqual(self.ours(f"SELECT id FROM {table} WHERE pt = {literal}"), [dict(id=1)])
                        self.assertEqual(self.ours(f"SELECT id FROM {table} WHERE pt IS NULL"), [dict(id=2)])

    def test_ltz_in_the_zone_of_the_writer_is_refused(self):
        schema = pa.schema([("id", pa.int32()), ("pt", pa.timestamp("us", "UTC"))])
        self.create_theirs("z", schema, ["pt"], {"partition.legacy-name": "false"})
        self.write_pypaimon("z", [dict(id=1, pt=LEAP.replace(tzinfo=UTC))], schema)
        self.refused("SELECT * FROM z", "not supported", "time zone")

    def test_double_is_not_for_rust(self):
        self.refused("CREATE TABLE o (id INT, pt DOUBLE) PARTITIONED BY (pt)", "differ between readers")
        schema = pa.schema([("id", pa.int32()), ("pt", pa.float64())])
        self.create_theirs("w", schema, ["pt"])
        self.write_pypaimon("w", [dict(id=1, pt=1e7)], schema)
        self.assertEqual(self.folders("w"), ["pt=1.0E7"])
        self.assertEqual(self.ours("SELECT id FROM w WHERE pt = 1e7"), [dict(id=1)])
        with self.assertRaisesRegex(NotImplementedError, "not supported as partition key"):
            self.rust("w")


class History(Exchange):
    def test_tags_snapshots_and_overwrites_of_ours(self):
        self.sql("CREATE TABLE h (id INT, v STRING, pt STRING) PARTITIONED BY (pt)")
        for row in kv(range(4)):
            self.sql(f"INSERT INTO h VALUES ({row['id']}, '{row['v']}', '{row['pt']}')")
        self.sluice("tag", "h", "create", "t", "--snapshot", "2")
        self.assertEqual(self.both("h", {"scan.tag-name": "t"}), kv(range(2)))
        self.assertEqual(self.both("h", {"scan.snapshot-id": "3"}), kv(range(3)))
        self.sql("INSERT OVERWRITE h VALUES (50, 'o', 'a')")
        self.assertEqual([r["id"] for r in self.both("h")], [1, 3, 50])
        self.sql("ALTER TABLE h DROP PARTITION (pt='b')")
        self.assertEqual([r["id"] for r in self.both("h")], [50])
        self.sql("TRUNCATE TABLE h")
        self.assertEqual(self.both("h"), [])
        self.sql("INSERT INTO h VALUES (1, 'x', 'a')")
        self.sluice("expire", "h", "--retain-last", "1", "--retain-max", "1", "--older-than", "0s")
        self.sluice("clean", "h")
        self.assertEqual(self.both("h"), [dict(id=1, v="x", pt="a")])
        self.assertEqual(self.both("h", {"scan.tag-name": "t"}), kv(range(2)))
        self.assertEqual([s.id() for s in self.rust_table("h").list_snapshots()], [8])
        self.assertEqual([(t.name(), t.snapshot_id()) for t in self.rust_table("h").list_tags()], [("t", 2)])

    def test_tags_and_overwrites_of_theirs(self):
        for who, write in self.writers():
            with self.subTest(who):
                self.create_theirs(who, KV, ["pt"])
                write(who, kv(range(6)), KV)
                write(who, [dict(id=100, v="o", pt="a")], KV, {"pt": "a"})
                self.theirs(who).create_tag("t", 1)
                self.assertEqual([r["id"] for r in self.ours(f"SELECT id FROM {who} ORDER BY id")], [1, 3, 5, 100])
                for version in ("'t'", "1"):
                    self.assertEqual(self.ours(f"SELECT * FROM {who} FOR VERSION AS OF {version} ORDER BY id"), kv(range(6)))

    def test_branches_of_theirs(self):
        self.create_theirs("b", KV, ["pt"])
        self.write_pypaimon("b", kv([0]), KV)
        self.theirs("b").create_tag("t")
        self.theirs("b").branch_manager().create_branch("side", "t")
        self.write_pypaimon("b$branch_side", kv([1]), KV)
        self.assertEqual(self.ours("SELECT * FROM b"), kv([0]))
        self.assertEqual(self.ours("SELECT * FROM `b$branch_side` ORDER BY id"), kv([0, 1]))
        self.assertEqual(self.pypaimon("b", {"branch": "side"}), kv([0, 1]))
        self.assertEqual(self.rust("b$branch_side"), kv([0, 1]))
        self.assertEqual(self.rust("b", {"branch": "side"}), kv([0]))  # it does not heed the option

    def test_schema_changes_in_turn(self):
        self.sql("CREATE TABLE e (id INT, a INT, b STRING, c TINYINT); INSERT INTO e VALUES (1, 1, 'x', 1)")
        self.sql("ALTER TABLE e RENAME COLUMN b TO bb; ALTER TABLE e ALTER COLUMN a TYPE BIGINT; "
                 "ALTER TABLE e DROP COLUMN c; ALTER TABLE e ADD COLUMN c STRING; "
                 "ALTER TABLE e ADD COLUMN r ROW<x INT, y STRING>")
        schema = pa.schema([("id", pa.int32()), ("a", pa.int64()), ("bb", pa.string()), ("c", pa.string()),
                            ("r", pa.struct([("x", pa.int32()), ("y", pa.string())]))])
        expect = [dict(id=1, a=1, bb="x", c=None, r=None)]
        self.assertEqual(self.both("e"), expect)
        for k, (_, write) in enumerate(self.writers()):
            expect.append(dict(id=2 + k, a=2**40, bb="z", c="new", r=dict(x=1, y="q")))
            write("e", expect[-1:], schema)
        self.sluice("compact", "e", "--full")
        self.assertEqual(self.both("e"), expect)
        self.assertEqual(self.ours("SELECT * FROM e ORDER BY id"), expect)

    def test_schema_changes_of_theirs(self):
        first = pa.schema([("id", pa.int32()), ("a", pa.int32()), ("b", pa.string())])
        self.create_theirs("e", first)
        self.write_pypaimon("e", [dict(id=1, a=10, b="x")], first)
        for change in (SchemaChange.add_column("c", AtomicType("BIGINT")), SchemaChange.rename_column("b", "bb"),
                       SchemaChange.update_column_type("a", AtomicType("BIGINT"))):
            CatalogFactory.create({"warehouse": self.wh}).alter_table("default.e", [change], False)
        self.sql("INSERT INTO e VALUES (2, 1099511627776, 'y', 7)")
        expect = [dict(id=1, a=10, bb="x", c=None), dict(id=2, a=2**40, bb="y", c=7)]
        self.assertEqual(self.ours("SELECT * FROM e ORDER BY id"), expect)
        self.assertEqual(self.both("e"), expect)


class Changes(Exchange):
    def deletion_vectors(self, options):
        self.create_theirs("d", KV, ["pt"], {"deletion-vectors.enabled": "true", **options})
        self.write_rust("d", kv(range(20)), KV)
        rows = {r["id"]: r for r in kv(range(20))}

        def check():
            expect = [rows[i] for i in sorted(rows)]
            self.assertEqual(self.ours("SELECT * FROM d ORDER BY id"), expect)
            self.assertEqual(self.both("d"), expect)
            self.sluice("verify", "d")

        self.rust_sql("DELETE FROM d WHERE id < 7")
        for i in range(7):
            del rows[i]
        check()
        self.sql("INSERT INTO d VALUES (100, 'ours', 'a')")
        rows[100] = dict(id=100, v="ours", pt="a")
        check()
        self.rust_sql("DELETE FROM d WHERE id = 9")
        del rows[9]
        check()
        self.sql("UPDATE d SET v = 'upd' WHERE id = 10; DELETE FROM d WHERE id = 11")
        rows[10]["v"] = "upd"
        del rows[11]
        check()
        self.sluice("compact", "d", "--full")
        check()
        self.rust_sql("DELETE FROM d WHERE id = 12")
        del rows[12]
        check()

    def test_deletion_vectors_of_32_bits(self):
        self.deletion_vectors({})

    def test_deletion_vectors_of_64_bits(self):
        self.deletion_vectors({"deletion-vectors.bitmap64": "true"})

    def test_three_write_in_turn(self):
        self.sql("CREATE TABLE t (id INT, v STRING, pt STRING) PARTITIONED BY (pt)")
        expect = []
        for k in range(0, 15, 3):
            rows = [dict(id=k + i, v="v", pt="a/b") for i in range(3)]
            self.write_pypaimon("t", rows[:1], KV)
            self.write_rust("t", rows[1:2], KV)
            self.sql(f"INSERT INTO t VALUES ({k + 2}, 'v', 'a/b')")
            expect += rows
        self.assertEqual(self.both("t"), expect)
        self.sluice("compact", "t", "--full")
        self.assertEqual(self.both("t"), expect)
        self.assertEqual(self.folders("t"), ["pt=a%2Fb"])
        self.sluice("verify", "t")

    def test_row_tracking_of_theirs_is_read(self):
        self.create_theirs("r", KV, ["pt"], {"row-tracking.enabled": "true"})
        self.write_pypaimon("r", kv(range(20)), KV)
        self.assertEqual(self.ours("SELECT * FROM r ORDER BY id"), kv(range(20)))

    def test_other_formats_are_refused_by_name(self):
        for kind in ("orc", "avro"):
            self.create_theirs(kind, KV, ["pt"], {"file.format": kind})
            self.write_pypaimon(kind, kv([0]), KV)
            self.refused(f"SELECT * FROM {kind}", f".{kind}", "not a Parquet file")


class Filters(Exchange):
    def test_our_bounds_lose_no_rows(self):
        """Each row is a file, so that a bound which is wrong makes a filter of theirs lose a row."""
        self.sql("CREATE TABLE s (id INT, s STRING, d DOUBLE, f FLOAT, m DECIMAL(20,2), dt DATE, ts3 TIMESTAMP(3), "
                 "ts TIMESTAMP(6), b BOOLEAN, lz TIMESTAMP(6) WITH LOCAL TIME ZONE, y BYTES)")
        doubles = ["'nan'::DOUBLE", "-0.0", "0.0", "1.5", "'inf'::DOUBLE", "'-inf'::DOUBLE", "NULL", "2.5"]
        for i, d in enumerate(doubles):
            s = "NULL" if i == 7 else "'" + ("ÿ" * 20 + str(i) if i % 2 else "a" * 17 + chr(97 + i)) + "'"
            self.sql(f"INSERT INTO s VALUES ({i}, {s}, {d}, {d}::FLOAT, {i} - 3.5, DATE '1969-12-28' + INTERVAL {i} DAY, "
                     f"TIMESTAMP '1970-01-01 00:00:00' - INTERVAL {i} MILLISECOND, TIMESTAMP '1970-01-01' + INTERVAL {i} "
                     f"MICROSECOND, {i} % 2 = 0, TIMESTAMPTZ '1970-01-01 00:00:00+00' - INTERVAL {i} MICROSECOND, 'ab{i}'::BLOB)")
        rows = self.pypaimon("s")
        self.assertEqual(len(rows), 8)
        ops = {"equal": lambda a, b: a == b, "less_than": lambda a, b: a < b, "greater_or_equal": lambda a, b: a >= b,
               "not_equal": lambda a, b: a != b}
        for column in rows[0]:
            self.assertEqual([r["id"] for r in self.pypaimon("s", where=lambda p: p.is_null(column))],
                             [r["id"] for r in rows if r[column] is None])
            for value in [r[column] for r in rows if r[column] is not None][1::3]:
                for op, holds in ops.items():
                    with self.subTest(column=column, op=op, value=value):
                        got = [r["id"] for r in self.pypaimon("s", where=lambda p: getattr(p, op)(column, value))]
                        self.assertEqual(got, [r["id"] for r in rows if r[column] is not None and holds(r[column], value)])
        literals = {"s": "'" + "ÿ" * 20 + "3'", "d": "1.5", "m": "-1.50", "dt": "DATE '1969-12-30'",
                    "ts": "TIMESTAMP '1970-01-01 00:00:00.000003'", "id": "4"}
        for column, literal in literals.items():
            for op in ("=", "<", ">=", "<>"):
                query = f"SELECT id FROM s WHERE {column} {op} {literal} ORDER BY id"
                with self.subTest(query):
                    self.assertEqual(self.rust_sql(query), self.ours(query))


if __name__ == "__main__":
    unittest.main()
