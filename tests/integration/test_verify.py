"""verify and inspect: sound tables, and tables damaged in every way."""
import glob
import json
import os
import random
import shutil
import time
import unittest

import sluice
from sluice import Case, FIXTURES

DAY = 86400


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Verify(Case):
    def setUp(self):
        super().setUp()
        self.sql("CREATE TABLE t (k INT, v STRING, d DECIMAL(20, 2), ts TIMESTAMP(3), f DOUBLE, b BYTES, l ARRAY<INT>, p STRING)"
                 " PARTITIONED BY (p)")
        self.sql("INSERT INTO t SELECT i, 'value ' || i, i + 0.25, TIMESTAMP '2024-01-01' + INTERVAL (i) MINUTE, i * 1.5, "
                 "encode('b' || i), [i, NULL], CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END FROM range(1000) r(i)")
        self.sql("INSERT INTO t VALUES (NULL, NULL, NULL, NULL, 'NaN', NULL, NULL, NULL)")
        self.sql("DELETE FROM t WHERE k = 5")
        self.table = os.path.join(self.warehouse, "default.db/t")

    def verify(self, *args, status=13, where=None):
        r = sluice.run("verify", "-w", self.warehouse, "--json", *args, "t")
        self.assertEqual(r.status, status, r)
        lines = r.lines()
        self.assertIn("sound", lines[-1])
        return lines[:-1]

    def kinds(self, *args, **kw):
        return {f["kind"] for f in self.verify(*args, **kw)}

    def path(self, pattern):
        found = sorted(glob.glob(os.path.join(self.table, pattern), recursive=True))
        self.assertTrue(found, pattern)
        return found[0]

    def newest(self, pattern):
        return max(glob.glob(os.path.join(self.table, pattern), recursive=True), key=os.path.getmtime)

    def snapshot(self, n=3):
        with open(self.path(f"snapshot/snapshot-{n}"), encoding="utf-8") as f:
            return json.load(f)

    def change_snapshot(self, n=3, **members):
        s = {**self.snapshot(n), **members}
        with open(self.path(f"snapshot/snapshot-{n}"), "w", encoding="utf-8") as f:
            json.dump(s, f)

    def delta_list(self, n=3):
        return os.path.join(self.table, "manifest", self.snapshot(n)["deltaManifestList"])

    def manifest_of(self, n=1):
        """A manifest that snapshot N added, found by what inspect says of its list."""
        doc = self.ok("inspect", self.delta_list(n)).json()
        text = json.dumps(doc)
        names = [os.path.basename(p) for p in glob.glob(os.path.join(self.table, "manifest/manifest-*"))]
        return os.path.join(self.table, "manifest", [x for x in names if x in text and "list" not in x][0])


class Sound(Verify):
    def test_sound(self):
        for args in ((), ("--deep",)):
            r = self.ok("verify", "-w", self.warehouse, *args, "t")
            self.assertIn("The table is sound", r.out)
            self.assertIn("3 snapshots", r.out)
        self.assertEqual(self.verify("--deep", status=0), [])

    def test_empty_table(self):
        self.sql("CREATE TABLE e (k INT)")
        self.ok("verify", "-w", self.warehouse, "e")
        self.ok("inspect", "-w", self.warehouse, "e")

    def test_after_schema_changes(self):
        self.sql("ALTER TABLE t ADD COLUMN extra INT")
        self.sql("ALTER TABLE t RENAME COLUMN v TO w")
        self.sql("INSERT INTO t (k, w, extra, p) VALUES (2000, 'x', 7, 'c')")
        self.assertEqual(self.verify("--deep", status=0), [])

    def test_no_such_table(self):
        self.fails(4, "verify", "-w", self.warehouse, "nothing")

    def test_fixtures(self):
        root = os.path.join(FIXTURES, "paimon")
        if not os.path.isdir(root):
            self.skipTest("no fixtures")
        for table in sorted(glob.glob(os.path.join(root, "*.db/*/"))):
            if not os.path.isdir(os.path.join(table, "schema")):
                continue
            with self.subTest(table=os.path.basename(table.rstrip("/"))):
                r = sluice.run("verify", "--deep", "--json", table)
                if "data_evolution" in table:
                    self.assertEqual(r.status, 8, r)
                    continue
                self.assertEqual([f for f in r.lines() if f.get("severity") == "damage"], [], r)
                self.assertEqual(r.status, 0, r)


class Damage(Verify):
    def test_missing_data_file(self):
        path = self.path("p=a/**/*.parquet")
        os.remove(path)
        found = [f for f in self.verify() if f["kind"] == "missing-file"]
        self.assertEqual(found[0]["where"], os.path.relpath(path, self.table))
        self.assertRegex(found[0]["namedBy"], r"snapshot \d")
        self.assertTrue(found[0]["advice"])
        r = sluice.run("verify", "-w", self.warehouse, "t")
        self.assertIn("DAMAGE", r.out)
        self.assertIn("safe to do", r.out)

    def test_wrong_size(self):
        with open(self.path("p=b/**/*.parquet"), "ab") as f:
            f.write(b"x")
        self.assertEqual(self.kinds(), {"wrong-size"})

    def test_swapped_data_files(self):
        """Files of the right size with other rows in them."""
        self.sql("CREATE TABLE u (k INT)")
        self.sql("INSERT INTO u VALUES (1), (2), (3)")
        self.sql("INSERT INTO u VALUES (101), (102), (103)")
        one, two = sorted(glob.glob(os.path.join(self.warehouse, "default.db/u/bucket-0/*.parquet")))
        if os.path.getsize(one) != os.path.getsize(two):
            self.skipTest("the files have different sizes")
        shutil.move(one, one + "x")
        shutil.move(two, one)
        shutil.move(one + "x", two)
        self.ok("verify", "-w", self.warehouse, "u")
        r = sluice.run("verify", "-w", self.warehouse, "--deep", "--json", "u")
        self.assertEqual(r.status, 13, r)
        self.assertEqual({f["kind"] for f in r.lines()[:-1]}, {"wrong-statistics"})

    def test_footer(self):
        path = self.path("p=b/**/*.parquet")
        with open(path, "r+b") as f:
            f.seek(-4, 2)
            f.write(b"XXXX")
        self.assertEqual(self.kinds(), {"damaged-file"})

    def test_flipped_bytes_in_data(self):
        """Not every flipped bit of a column can be noticed, but none may crash, and pages that do not decode are found."""
        path = self.path("p=b/**/*.parquet")
        good = read(path)
        r = random.Random(sluice.SEED)
        noticed = 0
        for _ in range(8):
            bad = bytearray(good)
            for _ in range(20):
                bad[r.randrange(4, len(bad) - 8)] ^= 1 << r.randrange(8)
            with open(path, "wb") as f:
                f.write(bad)
            result = sluice.run("verify", "-w", self.warehouse, "--deep", "--json", "t")
            self.assertIn(result.status, (0, 13), result)
            noticed += result.status == 13
        self.assertGreater(noticed, 0)

    def test_missing_manifest(self):
        os.remove(self.manifest_of(1))
        self.assertIn("missing-manifest", self.kinds())

    def test_truncated_manifest(self):
        with open(self.manifest_of(1), "r+b") as f:
            f.truncate(os.path.getsize(f.name) - 7)
        self.assertIn("wrong-metadata-size", self.kinds())

    def test_flipped_manifest(self):
        path = self.manifest_of(1)
        good = read(path)
        r = random.Random(sluice.SEED)
        for _ in range(12):
            bad = bytearray(good)
            bad[r.randrange(len(bad))] ^= 1 << r.randrange(8)
            with open(path, "wb") as f:
                f.write(bad)
            result = sluice.run("verify", "-w", self.warehouse, "--json", "t")
            self.assertIn(result.status, (0, 13), result)

    def test_missing_list(self):
        os.remove(self.delta_list())
        self.assertIn("missing-manifest-list", self.kinds())

    def test_list_of_another_snapshot(self):
        """The counts of snapshot 3 do not fit the delta of snapshot 2."""
        other = self.snapshot(2)
        self.change_snapshot(3, deltaManifestList=other["deltaManifestList"], deltaManifestListSize=other["deltaManifestListSize"])
        self.assertTrue({"added-twice", "wrong-total"} & self.kinds())

    def test_wrong_list_size(self):
        self.change_snapshot(3, deltaManifestListSize=1)
        self.assertIn("wrong-metadata-size", self.kinds())

    def test_wrong_total(self):
        self.change_snapshot(3, totalRecordCount=17)
        self.assertEqual(self.kinds(), {"wrong-total"})

    def test_wrong_delta_is_harmless(self):
        self.change_snapshot(3, deltaRecordCount=17)
        self.assertEqual(self.kinds(status=0), {"wrong-delta"})

    def test_snapshot_that_is_no_json(self):
        with open(self.path("snapshot/snapshot-2"), "w", encoding="ascii") as f:
            f.write("{")
        self.assertIn("damaged-snapshot", self.kinds())

    def test_snapshot_with_another_id(self):
        shutil.copy(self.path("snapshot/snapshot-1"), self.path("snapshot/snapshot-2"))
        self.assertIn("damaged-snapshot", self.kinds())

    def test_gap(self):
        os.remove(self.path("snapshot/snapshot-2"))
        self.assertIn("missing-snapshot", self.kinds())

    def test_no_snapshot_but_a_hint(self):
        for path in glob.glob(os.path.join(self.table, "snapshot/snapshot-*")):
            os.remove(path)
        self.assertIn("missing-snapshot", self.kinds())

    def test_missing_schema(self):
        self.change_snapshot(3, schemaId=9)
        self.assertIn("missing-schema", self.kinds())

    def test_damaged_schema(self):
        with open(self.path("schema/schema-0"), "w", encoding="ascii") as f:
            f.write("[]")
        self.assertIn("damaged-schema", self.kinds())

    def test_damaged_tag(self):
        self.ok("tag", "-w", self.warehouse, "t", "create", "x")
        with open(self.path("tag/tag-x"), "w", encoding="ascii") as f:
            f.write("null")
        self.assertIn("damaged-tag", self.kinds())

    def test_tag_that_lost_its_files(self):
        self.ok("tag", "-w", self.warehouse, "t", "create", "x")
        self.sql("TRUNCATE TABLE t")
        for n in (1, 2, 3):
            os.remove(os.path.join(self.table, f"snapshot/snapshot-{n}"))
        path = self.path("p=a/**/*.parquet")
        for path in glob.glob(os.path.join(self.table, "p=a/**/*.parquet"), recursive=True):
            os.remove(path)
        found = [f for f in self.verify() if f["kind"] == "missing-file"]
        self.assertIn('tag "x"', found[0]["namedBy"])

    def test_missing_statistics(self):
        self.change_snapshot(3, statistics="stat-none-0")
        self.assertIn("missing-statistics", self.kinds())

    def test_missing_index_manifest(self):
        self.change_snapshot(3, indexManifest="index-manifest-none-0")
        self.assertIn("missing-deletion-vectors", self.kinds())


class Repair(Verify):
    def hint(self, name, text=None):
        path = os.path.join(self.table, "snapshot", name)
        if text is not None:
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        with open(path, encoding="ascii") as f:
            return f.read()

    def test_hints(self):
        for name, text, kind, status in (("LATEST", "9", "wrong-hint", 13), ("LATEST", "1", "stale-hint", 0),
                                         ("LATEST", "x", "wrong-hint", 13), ("EARLIEST", "2", "stale-hint", 0)):
            with self.subTest(name=name, text=text):
                self.hint(name, text)
                self.assertEqual(self.kinds(status=status), {kind})
                found = self.verify("--repair", status=0)
                self.assertEqual([f["repaired"] for f in found], [True])
                self.assertEqual(self.hint(name), "3" if name == "LATEST" else "1")
                self.assertEqual(self.verify(status=0), [])

    def test_temporary_files(self):
        old, young = os.path.join(self.table, "manifest/.x.1.tmp"), os.path.join(self.table, "snapshot/.y.1.tmp")
        for path in (old, young):
            with open(path, "w", encoding="ascii"):
                pass
        t = time.time() - 2 * DAY
        os.utime(old, (t, t))
        self.assertEqual(self.kinds(status=0), {"temporary-file"})
        self.verify("--repair", status=0)
        self.assertFalse(os.path.exists(old))
        self.assertTrue(os.path.exists(young))

    def test_consumers(self):
        os.makedirs(os.path.join(self.table, "consumer"), exist_ok=True)
        for name, content in (("consumer-sluice-1", '{"nextSnapshot": 1}'), ("consumer-flink", '{"nextSnapshot": 1}'),
                              ("consumer-bad", "x")):
            path = os.path.join(self.table, "consumer", name)
            with open(path, "w", encoding="ascii") as f:
                f.write(content)
            t = time.time() - 2 * DAY
            os.utime(path, (t, t))
        self.assertEqual(self.kinds(status=0), {"dead-consumer", "damaged-consumer"})
        self.verify("--repair", status=0)
        self.assertEqual(sorted(os.listdir(os.path.join(self.table, "consumer"))), ["consumer-bad", "consumer-flink"])

    def test_orphans(self):
        path = os.path.join(self.table, "p=a/bucket-0/data-lost-0.parquet")
        with open(path, "w", encoding="ascii") as f:
            f.write("x")
        t = time.time() - 2 * DAY
        os.utime(path, (t, t))
        found = self.verify("--repair", status=0)
        self.assertEqual([(f["kind"], f["repaired"]) for f in found], [("orphan-files", False)])
        self.assertTrue(os.path.exists(path), "orphans are for clean")

    def test_repair_touches_nothing_else(self):
        os.remove(self.path("p=a/**/*.parquet"))
        with open(self.path("snapshot/snapshot-2"), "w", encoding="ascii") as f:
            f.write("{")
        before = {p: os.stat(p).st_mtime_ns for p in glob.glob(self.table + "/**/*", recursive=True) if os.path.isfile(p)}
        self.verify("--repair")
        after = {p: os.stat(p).st_mtime_ns for p in glob.glob(self.table + "/**/*", recursive=True) if os.path.isfile(p)}
        self.assertEqual(before, after)


class Inspect(Verify):
    def test_table(self):
        r = self.ok("inspect", "-w", self.warehouse, "--files", "--manifests", "t")
        for text in ("Columns (schema 0)", "DECIMAL(20, 2)", "Partitioned by p", "APPEND", "OVERWRITE", "DELETE", "1000 rows",
                     "Partitions (3)", "p=a", "Manifests", "Files", "nulls"):
            self.assertIn(text, r.out)
        doc = self.ok("inspect", "-w", self.warehouse, "--files", "--json", "t").json()
        self.assertEqual([s["kind"] for s in doc["snapshots"]], ["APPEND", "APPEND", "OVERWRITE"])
        self.assertEqual(doc["current"]["rows"], 1000)
        self.assertEqual(sum(f["rows"] for f in doc["files"]), 1000)
        self.assertEqual(sum(p["rows"] for p in doc["partitions"]), 1000)
        first = self.ok("inspect", "-w", self.warehouse, "--snapshot", "1", "--json", "t").json()
        self.assertEqual(first["current"]["id"], 1)
        self.assertEqual(first["current"]["rows"], 1000)
        self.fails(4, "inspect", "-w", self.warehouse, "--snapshot", "99", "t")

    def test_every_file_as_json(self):
        for path in glob.glob(self.table + "/**/*", recursive=True):
            if os.path.isfile(path):
                with self.subTest(path=os.path.relpath(path, self.table)):
                    self.ok("inspect", path).json()

    def test_never_crashes(self):
        """Damaged files of all kinds: an error or a description, never a crash."""
        r = random.Random(sluice.SEED)
        victims = [self.path("snapshot/snapshot-1"), self.path("schema/schema-0"), self.delta_list(), self.manifest_of(1),
                   self.path("p=b/**/*.parquet")]
        out = os.path.join(self.dir, "damaged")
        os.makedirs(out)
        for victim in victims:
            good = read(victim)
            for i in range(6):
                bad = bytearray(good)
                if i % 3 == 0:
                    del bad[r.randrange(len(bad)):]
                else:
                    bad[r.randrange(len(bad))] ^= 1 << r.randrange(8)
                path = os.path.join(out, os.path.basename(victim))
                with open(path, "wb") as f:
                    f.write(bad)
                result = sluice.run("inspect", path)
                self.assertIn(result.status, (0, 3, 7, 8), result)

    def test_system_tables(self):
        self.assertEqual([r["commit_kind"] for r in self.rows("SELECT commit_kind FROM t$snapshots ORDER BY snapshot_id")],
                         ["APPEND", "APPEND", "OVERWRITE"])
        self.assertEqual(self.rows("SELECT sum(record_count)::BIGINT AS n FROM t$files"), [{"n": 1000}])
        self.assertEqual(self.rows("SELECT count(*) AS n FROM t$partitions"), [{"n": 3}])
        self.assertIn({"key": "bucket", "value": "-1"}, self.rows("SELECT * FROM t$options"))


if __name__ == "__main__":
    unittest.main()
