"""Log tables of other writers read by SQL: every row of the fixtures, now and as of an instant."""
import os
import shutil
import sys
import unittest
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sluice

HUDI = os.path.join(sluice.FIXTURES, "hudi")


@unittest.skipUnless(os.path.isdir(HUDI), "the fixtures of Hudi tables are not there")
class Fixture(sluice.Case):
    def table(self, name, called="t"):
        """Unpacks a fixture into the warehouse."""
        with zipfile.ZipFile(os.path.join(HUDI, name + ".zip")) as z:
            names = [n for n in z.namelist() if not n.startswith("__MACOSX") and not n.endswith(".DS_Store")]
            z.extractall(os.path.join(self.dir, "unpacked"), names)
        folder = os.path.join(self.warehouse, "default.db", called)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        shutil.move(os.path.join(self.dir, "unpacked", names[0].split("/")[0]), folder)
        return folder

    def pairs(self, query, **kw):
        return [tuple(r.values()) for r in self.rows(query, **kw)]


class Version6(Fixture):
    def test_update_in_avro_log(self):
        self.table("mor_avro_v6_trips_8i1u")
        want = {"rider-A": 19.1, "rider-C": 27.7, "rider-D": 25.0, "rider-E": 93.5, "rider-F": 34.15, "rider-G": 43.4, "rider-I": 41.06,
                "rider-J": 17.85}
        self.assertEqual(dict(self.pairs("SELECT rider, fare FROM t")), want)
        first = "20250331030642808"
        for clause in ("VERSION AS OF %s" % first, "VERSION AS OF '%s'" % first, "TIMESTAMP AS OF '%s'" % first,
                       "TIMESTAMP AS OF '2025-03-31 03:06:43'", "/*+ OPTIONS('as.of.instant' = '%s') */" % first,
                       "/*+ OPTIONS('hoodie.datasource.query.type' = 'read_optimized') */"):
            self.assertEqual(dict(self.pairs("SELECT rider, fare FROM t " + clause)), {**want, "rider-D": 33.9}, clause)
        self.assertEqual(self.pairs("SELECT count(*) FROM t"), [(8,)])
        self.assertEqual(self.pairs("SELECT a.fare AS now, b.fare AS before FROM t a JOIN t VERSION AS OF %s b USING (uuid) WHERE a.fare <> b.fare" % first),
                         [(25.0, 33.9)])
        self.assertEqual(self.pairs("SELECT x.n + y.n FROM (SELECT count(*) n FROM t) x, (SELECT count(*) n FROM t) y"), [(16,)])

    def test_incremental(self):
        self.table("mor_avro_v6_trips_8i1u")
        hint = "/*+ OPTIONS('hoodie.datasource.query.type' = 'incremental', 'hoodie.datasource.read.begin.instanttime' = '%s'%s) */"
        self.assertEqual(self.pairs("SELECT rider, fare FROM t " + hint % ("20250331030642808", "")), [("rider-D", 25.0)])
        self.assertEqual(len(self.pairs("SELECT * FROM t " + hint % ("0" * 17, ""))), 8)
        end = ", 'hoodie.datasource.read.end.instanttime' = '20250331030642808'"
        self.assertEqual(len(self.pairs("SELECT * FROM t " + hint % ("0" * 17, end))), 8)
        self.assertEqual(self.pairs("SELECT fare FROM t " + hint % ("0" * 17, end) + " WHERE rider = 'rider-D'"), [(33.9,)])

    def test_deletes(self):
        self.table("mor_avro_v6_trips_8i3d")
        self.assertEqual([r[0][-1] for r in self.pairs("SELECT rider FROM t ORDER BY rider")], list("EFGIJ"))
        self.assertEqual(self.pairs("SELECT count(*) FROM t VERSION AS OF 20250618054711154"), [(8,)])

    def test_meta_columns(self):
        self.table("mor_avro_v6_trips_8i1u")
        got = self.pairs("SELECT _hoodie_commit_time, count(*) FROM t GROUP BY 1 ORDER BY 1")
        self.assertEqual(got, [("20250331030642808", 7), ("20250331030645735", 1)])
        self.assertEqual(len(self.rows("SELECT * FROM t")[0]), 6)

    def test_parquet_log(self):
        self.table("mor_parquet_v6_nonpartitioned")
        self.assertEqual(self.pairs("SELECT id, name, isActive FROM t ORDER BY id"),
                         [(1, "Alice", False), (2, "Bob", False), (3, "Carol", True), (4, "Diana", True)])
        optimized = "/*+ OPTIONS('hoodie.datasource.query.type' = 'read_optimized') */"
        self.assertEqual(self.pairs("SELECT isActive FROM t %s WHERE id = 1" % optimized), [(True,)])

    def test_rollback(self):
        self.table("mor_parquet_v6_nonpartitioned_rollback")
        self.assertEqual(self.pairs("SELECT id, name, isActive FROM t ORDER BY id"), [(1, "Alice", True), (2, "Bob", True), (3, "Carol", True)])

    def test_two_levels_of_partitions(self):
        self.table("mor_parquet_v6_complexkeygen_hivestyle")
        self.assertEqual(self.pairs("SELECT id, name, isActive FROM t ORDER BY id"),
                         [(1, "Alice", False), (2, "Bob", False), (3, "Carol", True), (4, "Diana", True)])
        plan = self.pairs("EXPLAIN SELECT id FROM t WHERE byteField = 20")[0][0]
        self.assertIn("1 of 1 file slices kept (2 of 3 partitions pruned", plan)
        self.assertEqual(len(self.pairs("SELECT id FROM t WHERE byteField = 20")), len(self.pairs("SELECT id FROM t WHERE byteField + 0 = 20")))

    def test_overwritten(self):
        self.table("mor_parquet_v6_simplekeygen_nonhivestyle_overwritetable")
        self.assertEqual(self.pairs("SELECT id, name, isActive FROM t"), [(4, "Diana", False)])
        self.assertEqual(self.pairs("SELECT count(*) FROM t VERSION AS OF 20250121000656060"), [(4,)])

    def test_empty(self):
        self.table("mor_parquet_v6_empty")
        self.assertEqual(self.pairs("SELECT * FROM t"), [])
        self.assertEqual([r["column"] for r in self.rows("DESCRIBE t")], ["id", "name", "isActive"])

    def test_values_of_all_types(self):
        self.table("mor_parquet_v6_nonpartitioned")
        row = self.rows("SELECT * FROM t WHERE id = 1")[0]
        base = self.rows("SELECT * FROM t /*+ OPTIONS('hoodie.datasource.query.type' = 'read_optimized') */ WHERE id = 1")[0]
        self.assertEqual({k for k in row if row[k] != base[k]}, {"isActive"})


class Version8And9(Fixture):
    def test_copy_on_write(self):
        self.table("cow_v8_nonpartitioned")
        self.assertEqual(self.pairs("SELECT id, name, isActive FROM t ORDER BY id"),
                         [(1, "Alice", False), (2, "Bob", False), (3, "Carol", True), (4, "Diana", True)])

    def test_nonpartitioned(self):
        self.table("mor_avro_v9_txns_nonpart_nometa")
        number = lambda where="": sorted(int(r[0][-3:]) for r in self.pairs("SELECT txn_id FROM t " + where))
        self.assertEqual(number(), [1, 3, 4] + list(range(6, 17)))
        at = "VERSION AS OF 20260307135"
        for instant, rows in (("926671", 8), ("929444", 8), ("931043", 7), ("932100", 7), ("933015", 6), ("933863", 6), ("934671", 8)):
            self.assertEqual(len(number(at + instant)), rows, instant)
        self.assertEqual(self.pairs("SELECT txn_type FROM t %s929444 WHERE txn_id = 'TXN-001'" % at), [("reversal",)])
        self.assertEqual(self.pairs("SELECT amount::VARCHAR FROM t %s932100 WHERE txn_id = 'TXN-005'" % at), [("2500.00",)])
        self.assertEqual(self.pairs("SELECT fee_amount::VARCHAR FROM t %s933863 WHERE txn_id = 'TXN-007'" % at), [("75.00",)])

    def test_partitioned(self):
        self.table("mor_avro_v9_txns_simple_nometa")
        want = {"eu": [11, 12, 18], "us": [1, 3, 13, 14, 17], "apac": [7, 8, 15, 16]}
        for region, rows in want.items():
            self.assertEqual(sorted(int(r[0][-3:]) for r in self.pairs("SELECT txn_id FROM t WHERE region = '%s'" % region)), rows)
        self.assertIn("2 of 3 partitions pruned", self.pairs("EXPLAIN SELECT * FROM t WHERE region = 'eu'")[0][0])

    def test_zone_of_the_machine(self):
        self.table("mor_avro_v9_txns_nonpart_nometa")
        query = "SELECT txn_id, txn_datetime, txn_date FROM t ORDER BY 1"
        want = self.rows(query)
        for zone in ("America/Chicago", "Asia/Kolkata"):
            self.assertEqual(self.rows(query, env={"TZ": zone}), want)


class Statements(Fixture):
    def test_show(self):
        self.table("mor_avro_v9_txns_simple_nometa", "logs")
        self.assertEqual(self.pairs("SHOW TABLES"), [("logs",)])
        self.assertEqual([r[0] for r in self.pairs("SHOW PARTITIONS logs")], ["region=apac", "region=eu", "region=us"])
        self.assertEqual([r["partition_key"] for r in self.rows("DESCRIBE logs") if r["column"] == "region"], ["YES"])
        instants = self.rows("SHOW SNAPSHOTS FROM logs")
        self.assertEqual(instants[0]["action"], "deltacommit")
        self.assertTrue(all(r["state"] == "completed" for r in instants))
        self.assertIn("PRIMARY KEY (`txn_id`) NOT ENFORCED", self.pairs("SHOW CREATE TABLE logs")[0][0])

    def test_no_such_instant(self):
        self.table("mor_avro_v6_trips_8i1u")
        self.fails(4, "sql", "-w", self.warehouse, "-e", "SELECT * FROM t VERSION AS OF 20200101000000000")
        self.fails(3, "sql", "-w", self.warehouse, "-e", "SELECT * FROM t VERSION AS OF 7")

    def test_by_path(self):
        folder = self.table("mor_avro_v6_trips_8i1u")
        self.assertEqual(self.pairs("SELECT count(*) FROM '%s'" % folder), [(8,)])

    def test_refused_by_name(self):
        folder = self.table("mor_avro_v6_trips_8i1u")
        path = os.path.join(folder, ".hoodie/hoodie.properties")
        with open(path) as f:
            text = f.read()
        for change, word in (({"table.version=6": "table.version=10"}, "10"),
                             ({"OverwriteWithLatestAvroPayload": "AWSDmsAvroPayload"}, "AWSDmsAvroPayload")):
            changed = text
            for a, b in change.items():
                self.assertIn(a, changed)
                changed = changed.replace(a, b)
            with open(path, "w") as f:
                f.write(changed)
            r = self.fails(8, "sql", "-w", self.warehouse, "-e", "SELECT * FROM t")
            self.assertIn(word, r.err)


class ByKey(Fixture):
    """SELECT by key goes by the index, and gives what a scan of all gives."""

    def plan(self, where):
        return self.pairs("EXPLAIN SELECT * FROM q WHERE " + where)[0][0]

    def same(self, where, scan):
        got = self.rows("SELECT * FROM q WHERE %s ORDER BY ALL" % where)
        self.assertEqual(got, self.rows("SELECT * FROM q WHERE %s ORDER BY ALL" % scan), where)
        return got

    def test_one_field(self):
        self.sql("""CREATE TABLE q (id STRING, ts BIGINT, v INT, PRIMARY KEY (id) NOT ENFORCED)
                    WITH ('write-mode' = 'log', 'ordering-field' = 'ts');
                    INSERT INTO q SELECT 'k' || i, 10, i FROM range(3000) t(i);
                    INSERT INTO q SELECT 'k' || i, 11 + i % 3, i + 1 FROM range(0, 3000, 10) t(i);
                    INSERT INTO q SELECT 'm' || i, 1, i FROM range(300) t(i);
                    DELETE FROM q WHERE id IN ('k20', 'm7', 'k21');
                    INSERT INTO q SELECT 'k' || i, 9, -1 FROM range(20, 41, 20) t(i)""")
        for key in ("k0", "k1", "k20", "k21", "k30", "k40", "m7", "m8", "absent", "z", ""):
            self.same("id = '%s'" % key, "id || '' = '%s'" % key)
        self.same("id IN ('k0', 'k20', 'm9', 'nothing', NULL)", "id || '' IN ('k0', 'k20', 'm9', 'nothing')")
        self.same("id = 'k30' AND v > 30", "id || '' = 'k30' AND v > 30")
        self.assertEqual(len(self.same("id = 'k30' OR v = 31", "id || '' = 'k30' OR v = 31")), 3)
        plan = self.plan("id = 'zzz'")
        self.assertRegex(plan, r"1 keys looked up in 4 base files and blocks: 4 ruled out by range, 0 by filter, 0 opened")
        self.assertRegex(self.plan("id = 'm7777'"), r"0 opened")
        self.assertRegex(self.plan("id = 'm8'"), r", 1 opened \(0 without an index\), and 1 delete blocks")
        self.assertNotIn("looked up", self.plan("v = 8"))

    def test_two_fields(self):
        self.sql("""CREATE TABLE q (a STRING, b BIGINT, ts BIGINT, v INT, PRIMARY KEY (a, b) NOT ENFORCED)
                    WITH ('write-mode' = 'log', 'ordering-field' = 'ts');
                    INSERT INTO q SELECT 'a' || i % 10, i, 10, i FROM range(500) t(i);
                    INSERT INTO q SELECT 'a' || i % 10, i, 11, -i FROM range(0, 500, 7) t(i)""")
        for a, b in (("a0", 70), ("a1", 71), ("a3", 4), ("x", 1)):
            self.same("a = '%s' AND b = %d" % (a, b), "a || '' = '%s' AND b + 0 = %d" % (a, b))
        self.assertIn("4 keys looked up", self.plan("a IN ('a0', 'a1') AND b IN (70, 71)"))
        self.assertEqual(len(self.same("a IN ('a0', 'a1') AND b IN (70, 71)", "a || '' IN ('a0', 'a1') AND b + 0 IN (70, 71)")), 2)
        self.assertNotIn("looked up", self.plan("a = 'a0'"))

    def test_in_fixtures(self):
        self.table("mor_avro_v9_txns_simple_nometa", "q")
        for key in ("TXN-001", "TXN-002", "TXN-007", "TXN-018"):
            self.same("txn_id = '%s'" % key, "txn_id || '' = '%s'" % key)
        shutil.rmtree(self.warehouse)
        self.table("mor_parquet_v6_nonpartitioned", "q")
        for key in range(6):
            self.same("id = %d" % key, "id + 0 = %d" % key)
        shutil.rmtree(self.warehouse)
        self.table("mor_parquet_v6_complexkeygen_hivestyle", "q")
        self.assertEqual(len(self.same("id = 1 AND name = 'Alice'", "id + 0 = 1 AND name || '' = 'Alice'")), 1)


class Upkeep(Fixture):
    def verify(self, status=0, *args):
        r = sluice.run("verify", "-w", self.warehouse, "--json", *args, "t")
        self.assertEqual(r.status, status, r)
        return r.lines()

    def test_every_fixture_is_sound(self):
        for name in sorted(n[:-4] for n in os.listdir(HUDI) if n.endswith(".zip")):
            with self.subTest(name):
                shutil.rmtree(self.warehouse, ignore_errors=True)
                self.table(name)
                last = self.verify(0, "--deep")[-1]
                self.assertEqual((last["sound"], last["damage"], last["logOnlyKeys"]), (True, 0, 0))

    def test_damage(self):
        folder = self.table("mor_avro_v6_trips_8i1u")
        log = os.path.join(folder, "city=san_francisco/.d0304c53-6fd2-4b7a-a9d6-5ff632f79224-0_20250331030642808.log.1_0-26-85")
        with open(log, "rb") as f:
            whole = f.read()
        with open(log, "wb") as f:
            f.write(whole[:-100])
        self.assertEqual(sorted(f["kind"] for f in self.verify(13)[:-1]), ["torn-write", "wrong-size"])
        os.remove(log)
        self.assertEqual([f["kind"] for f in self.verify(13)[:-1]], ["missing-file"])
        with open(log, "wb") as f:
            f.write(whole)
        base = os.path.join(folder, "city=chennai/84e82649-b1ee-4a25-a316-17cc6872616b-0_2-13-62_20250331030642808.parquet")
        with open(base, "r+b") as f:
            f.seek(-20, 2)
            f.write(b"x" * 20)
        self.assertEqual([f["kind"] for f in self.verify(13)[:-1]], ["damaged-file"])

    def test_keys_in_logs_alone(self):
        folder = self.table("mor_avro_v6_trips_8i1u")
        for name in os.listdir(os.path.join(folder, "city=san_francisco")):
            if name.endswith(".parquet"):
                os.remove(os.path.join(folder, "city=san_francisco", name))
        self.assertEqual(self.pairs("SELECT rider, fare FROM t WHERE city = 'san_francisco'"), [("rider-D", 25.0)])
        self.verify(13)
        text = self.ok("inspect", "-w", self.warehouse, "t").out
        self.assertIn("1 file groups (1 of logs alone)", text)

    def test_inspect(self):
        folder = self.table("mor_avro_v9_txns_simple_nometa")
        doc = self.ok("inspect", "-w", self.warehouse, "--json", "--files", "t").json()
        self.assertEqual((doc["version"], doc["keyFields"], doc["merge"]), (9, ["txn_id"], "event time"))
        self.assertIn("Sluice writes version 6 only", doc["notWritableSince"])
        self.assertEqual(doc["fileGroups"], len(doc["slices"]))
        self.assertEqual({p["path"] for p in doc["partitions"]}, {"region=apac", "region=eu", "region=us"})
        for folder, _, names in os.walk(folder):
            for name in names:
                if ".log." in name:
                    blocks = self.ok("inspect", "--json", os.path.join(folder, name)).json()["items"]
                    self.assertTrue(all(b["type"] in ("AVRO_DATA", "DELETE") for b in blocks), blocks)

    def test_inspect_any_bytes(self):
        with open(os.path.join(HUDI, "logs/.6d3d1d6e-2298-4080-a0c1-494877d6f40a-0_20250618054711154.log.1_0-26-85"), "rb") as f:
            whole = f.read()
        path = os.path.join(self.dir, ".x_20250618054711154.log.1_0-0-0")
        for cut in (0, 5, 6, 14, 30, 900, len(whole) - 1):
            with open(path, "wb") as f:
                f.write(whole[:cut])
            self.ok("inspect", path)
        with open(path, "wb") as f:
            f.write(whole[:50] + b"\xff" * 8 + whole[58:] + whole)
        items = self.ok("inspect", "--json", path).json()["items"]
        self.assertEqual(len(items), 2)


if __name__ == "__main__":
    unittest.main()
