"""Log tables made and written by the program, and read back by SQL."""
import json
import os
import random
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sluice


class Log(sluice.Case):
    def create(self, columns="id STRING, v INT, ts BIGINT", name="t", key="id", by="", **options):
        options = {"write-mode": "log", "ordering-field": "ts", **{k.replace("__", "."): v for k, v in options.items()}}
        text = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
        self.sql(f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) {by} WITH ({text})")

    def values(self, query="SELECT id, v FROM t ORDER BY id", **kw):
        return [tuple(r.values()) for r in self.rows(query, **kw)]

    def write(self, rows, name="in.ndjson"):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            for r in rows:
                f.write(json.dumps(r, ensure_ascii=False) + "\n")
        return path

    def load(self, path, *args, table="t"):
        return self.ok("ingest", "-w", self.warehouse, "-q", "--json", table, path, *args).json()

    def files(self, suffix, table="t"):
        folder = os.path.join(self.warehouse, "default.db", table)
        return sorted(os.path.relpath(os.path.join(d, f), folder) for d, _, names in os.walk(folder) for f in names
                      if suffix in f and ".hoodie" + os.sep not in os.path.join(os.path.relpath(d, folder), ""))

    def refuses(self, sql, *words):
        r = sluice.run("sql", "-w", self.warehouse, "-e", sql)
        self.assertNotEqual(r.status, 0)
        for w in words:
            self.assertIn(w, r.err)


class Create(Log):
    def test_primary_key_names_both_options(self):
        self.refuses("CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED)", "'write-mode' = 'log'", "'ordering-field'",
                   "Paimon's own primary-key tables are not supported")
        self.refuses("CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('write-mode' = 'log')", "'ordering-field'")
        self.refuses("CREATE TABLE t (id INT) WITH ('write-mode' = 'log', 'ordering-field' = 'id')", "PRIMARY KEY")
        self.refuses("CREATE TABLE t (id DOUBLE, PRIMARY KEY (id) NOT ENFORCED) WITH ('write-mode' = 'log', 'ordering-field' = 'id')", "id")
        self.refuses("CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('write-mode' = 'log', 'ordering-field' = 'no')", "no")

    def test_properties(self):
        self.create(**{"hoodie__parquet__max__file__size": "1000000", "some__option": "kept"})
        with open(os.path.join(self.warehouse, "default.db", "t", ".hoodie", "hoodie.properties"), encoding="ascii") as f:
            lines = dict(x.rstrip("\n").split("=", 1) for x in f if not x.startswith("#"))
        self.assertEqual(lines["hoodie.table.version"], "6")
        self.assertEqual(lines["hoodie.table.type"], "MERGE_ON_READ")
        self.assertEqual(lines["hoodie.table.precombine.field"], "ts")
        self.assertEqual(lines["hoodie.parquet.max.file.size"], "1000000")
        self.assertEqual(lines["some.option"], "kept")
        self.refuses("CREATE TABLE t (a INT)", "exists")


class Statements(Log):
    def test_insert_upserts(self):
        self.create()
        self.sql("INSERT INTO t VALUES ('a', 1, 1), ('b', 1, 1), ('a', 2, 2), ('a', 0, 1)")
        self.assertEqual(self.values(), [("a", 2), ("b", 1)])
        self.assertEqual(len(self.files(".parquet")), 1)
        self.sql("INSERT INTO t VALUES ('a', 9, 1), ('b', 2, 1), ('c', 3, 0)")
        self.assertEqual(self.values(), [("a", 2), ("b", 2), ("c", 3)], "late rows lose, ties go to the later write")
        self.assertEqual(len(self.files(".parquet")), 1)
        self.assertEqual(len(self.files(".log.")), 1)

    def test_update_delete_merge(self):
        self.create()
        self.sql("INSERT INTO t VALUES ('a', 1, 5), ('b', 2, 5), ('c', 3, 5)")
        self.sql("UPDATE t SET v = v * 10 WHERE id <> 'c'")
        self.assertEqual(self.values(), [("a", 10), ("b", 20), ("c", 3)])
        self.sql("UPDATE t SET ts = 1, v = 11 WHERE id = 'a'")
        self.assertEqual(self.values("SELECT v, ts FROM t WHERE id = 'a'"), [(11, 1)])
        self.sql("DELETE FROM t WHERE v = 20")
        self.assertEqual(self.values(), [("a", 11), ("c", 3)])
        self.sql("INSERT INTO t VALUES ('b', 7, 0)")
        self.assertEqual(self.values(), [("a", 11), ("b", 7), ("c", 3)], "a DELETE forgets the ordering value")
        self.sql("MERGE INTO t USING (VALUES ('a', 100), ('c', 0), ('d', 4)) s(i, n) ON t.id = s.i "
                 "WHEN MATCHED AND s.n = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = CASE WHEN s.n > 1 THEN t.v + s.n END "
                 "WHEN NOT MATCHED THEN INSERT (id, v, ts) VALUES (s.i, s.n, 1)")
        self.assertEqual(self.values(), [("a", 111), ("b", 7), ("d", 4)])
        self.refuses("MERGE INTO t USING (VALUES ('a'), ('a')) s(i) ON t.id = s.i WHEN MATCHED THEN DELETE", "several rows")
        self.refuses("UPDATE t SET id = 'x'", "key column")

    def test_partitions(self):
        self.create("a STRING, b INT, v INT, ts BIGINT, p STRING, d DATE", key="a, b", by="PARTITIONED BY (p, d)",
                    **{"hoodie__datasource__write__partitionpath__urlencode": "true"})
        self.sql("INSERT INTO t VALUES ('x', 1, 1, 1, 'a/b', DATE '2024-01-02'), ('x', 2, 2, 1, NULL, DATE '2024-01-02')")
        self.assertEqual([os.path.dirname(f) for f in self.files(".parquet")],
                         ["p=__HIVE_DEFAULT_PARTITION__/d=2024-01-02", "p=a%2Fb/d=2024-01-02"])
        self.assertEqual(self.values("SELECT _hoodie_record_key FROM t ORDER BY b"), [("a:x,b:1",), ("a:x,b:2",)])
        self.sql("UPDATE t SET p = 'c' WHERE b = 1")
        self.assertEqual(self.values("SELECT b, v, p FROM t ORDER BY b"), [(1, 1, "c"), (2, 2, None)])

    def test_types(self):
        columns = ("id INT, ts TIMESTAMP, b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(20, 3), m DECIMAL(5, 2), s STRING, x BYTES, "
                   "t DATE, a ARRAY<STRING>, r ROW<p INT, q STRING>, k MAP<STRING, INT>")
        row = ("1, TIMESTAMP '2024-01-02 03:04:05.678901', true, -5, 1234567890123, 1.5, 2.25, 12345678901234567.125, 1.25, 'häß', "
               "'\\x00\\xff'::BLOB, DATE '1969-12-31', ['a', NULL], {'p': 1, 'q': NULL}, MAP {'k': 1}")
        for form in ("avro", "parquet"):
            self.create(columns, name=form, **{"hoodie__logfile__data__block__format": form})
            self.sql(f"INSERT INTO {form} SELECT 2, TIMESTAMP '2020-01-01 00:00:00', * EXCLUDE (c0, c1) FROM (SELECT {row}) q(c0, c1, c2, c3, c4, c5, c6, "
                     "c7, c8, c9, c10, c11, c12, c13, c14)")
            self.sql(f"INSERT INTO {form} SELECT {row}")
            self.assertEqual(len(self.files(".log.", form)), 1)
            got = self.values(f"SELECT * EXCLUDE (id, ts) FROM {form} ORDER BY id")
            self.assertEqual(got[0], got[1], form)
            self.assertEqual(got[0][5], "12345678901234567.125" if isinstance(got[0][5], str) else got[0][5])
            self.assertEqual(self.values(f"SELECT epoch_us(ts) AS u FROM {form} WHERE id = 1"), [(1704164645678901,)])
            self.sql(f"UPDATE {form} SET i = 1 WHERE id = 1; DELETE FROM {form} WHERE id = 2")
            self.assertEqual(self.values(f"SELECT id, i FROM {form}"), [(1, 1)])


class Ingest(Log):
    def model(self, rows, op="op"):
        """What is left by event time, whatever the batches are."""
        state = {}
        for r in rows:
            now = state.get(r["id"])
            if now is None or r["ts"] >= now["ts"]:
                state[r["id"]] = r
        return sorted((r["id"], r["v"]) for r in state.values() if r.get(op) != "delete")

    def test_batches_do_not_matter(self):
        rng = random.Random(sluice.SEED)
        rows = [{"id": f"k{rng.randrange(60)}", "v": i, "ts": rng.randrange(40), "op": rng.choice(["upsert"] * 5 + ["delete"])} for i in range(900)]
        path = self.write(rows)
        for n in (1000, 170, 31):
            self.create(name=f"t{n}")
            self.load(path, "--op-field", "op", "--commit-rows", n, table=f"t{n}")
            self.assertEqual(self.values(f"SELECT id, v FROM t{n} ORDER BY id"), self.model(rows), f"commits of {n} rows, seed {sluice.SEED}")

    def test_resumes_by_identity(self):
        self.create()
        path = self.write([{"id": f"k{i}", "v": i, "ts": i} for i in range(100)])
        first = self.load(path, "--identity", "x", "--commit-rows", 30)
        self.assertEqual((first["rows"], first["commits"]), (100, 4))
        with open(path, "a", encoding="utf-8") as f:
            f.write('{"id": "new", "v": 1, "ts": 1}\n')
        self.sql("INSERT INTO t VALUES ('between', 1, 1)")
        second = self.load(path, "--identity", "x")
        self.assertEqual((second["rows"], second["resumed"]), (1, True))
        self.assertEqual(self.values("SELECT count(*) AS n FROM t"), [(102,)])

    def test_ops(self):
        self.create()
        self.load(self.write([{"id": "a", "v": 1, "ts": 5}, {"id": "b", "v": 1, "ts": 5}]))
        self.load(self.write([{"id": "a", "v": 2, "ts": 6}, {"id": "c", "v": 2, "ts": 6}]), "--op", "insert")
        self.assertEqual(self.values(), [("a", 1), ("b", 1), ("c", 2)])
        self.load(self.write([{"id": "a", "ts": 4}, {"id": "b"}, {"id": "zz"}]), "--op", "delete")
        self.assertEqual(self.values(), [("a", 1), ("c", 2)], "a late delete loses, one without an ordering value wins")

    def test_is_deleted_column(self):
        self.create("id STRING, v INT, ts BIGINT, _hoodie_is_deleted BOOLEAN")
        self.load(self.write([{"id": "a", "v": 1, "ts": 1}, {"id": "b", "v": 1, "ts": 1}]))
        self.load(self.write([{"id": "a", "ts": 2, "_hoodie_is_deleted": True}, {"id": "b", "v": 2, "ts": 2, "_hoodie_is_deleted": False}]))
        self.assertEqual(self.values(), [("b", 2)])

    def test_csv_and_parquet(self):
        self.create()
        path = os.path.join(self.dir, "in.csv")
        with open(path, "w", encoding="utf-8") as f:
            f.write("id,v,ts\na,1,1\nb,2,1\na,3,1\n")
        self.load(path)
        self.assertEqual(self.values(), [("a", 3), ("b", 2)])
        out = os.path.join(self.dir, "in.parquet")
        self.sql(f"COPY (SELECT 'b' AS id, 5::INT AS v, 9::BIGINT AS ts UNION ALL SELECT 'c', 6, 1) TO '{out}'")
        self.load(out)
        self.assertEqual(self.values(), [("a", 3), ("b", 5), ("c", 6)])

    def test_bad_rows(self):
        self.create()
        path = self.write([{"id": "a", "v": 1, "ts": 1}, {"v": 1, "ts": 1}, {"id": "b", "v": 2, "ts": 1, "_row_kind": "what"}])
        r = self.load(path, "--on-error", "skip")
        self.assertEqual((r["rows"], r["badRows"]), (1, 2))
        self.assertEqual(self.values(), [("a", 1)])


class Placement(Log):
    def keys(self, first, n, v=0):
        return [{"id": f"{i:08}", "v": v, "ts": v} for i in range(first, first + n)]

    def test_inserts_fill_existing_groups(self):
        self.create()
        for k in range(5):
            self.load(self.write(self.keys(k * 100, 100)))
        self.assertEqual(len(self.files(".parquet")), 1)
        self.assertEqual(len(self.files(".log.")), 4)
        self.assertEqual(self.values("SELECT count(*) AS n, count(DISTINCT id) AS d FROM t"), [(500, 500)])

    def test_never_rewrites_bases(self):
        self.create(**{"sluice__insert__to__log": "never"})
        self.load(self.write(self.keys(0, 100)))
        self.load(self.write(self.keys(50, 100, v=1)))
        self.assertEqual(len(self.files(".log.")), 0)
        self.assertEqual(len(self.files(".parquet")), 2)
        self.assertEqual(self.values("SELECT count(*) AS n, count(DISTINCT id) AS d, sum(v) AS s FROM t"), [(150, 150, 100)])

    def test_always_begins_with_logs(self):
        self.create(**{"sluice__insert__to__log": "always"})
        self.load(self.write(self.keys(0, 100)))
        self.load(self.write(self.keys(50, 100, v=1)))
        self.assertEqual(len(self.files(".parquet")), 0)
        self.assertEqual(self.values("SELECT count(*) AS n, count(DISTINCT id) AS d, sum(v) AS s FROM t"), [(150, 150, 100)])

    def test_big_files_take_no_more(self):
        self.create(**{"hoodie__parquet__max__file__size": "204800"})
        self.load(self.write(self.keys(0, 450)))
        self.assertEqual(len(self.files(".parquet")), 3)

    def test_modes_of_the_index_agree(self):
        rng = random.Random(sluice.SEED)
        want = {}
        modes = ("header", "off", "footer", "parquet", "parquet_off")
        for mode in modes:
            self.create(name=mode, **{"sluice__log__index": "off" if mode == "parquet_off" else mode if mode != "parquet" else "header",
                                      "sluice__log__index__not-for-hudi-1": "true",
                                      "hoodie__logfile__data__block__format": "parquet" if "parquet" in mode else "avro"})
        for k in range(4):
            rows = [{"id": f"k{rng.randrange(300)}", "v": k * 1000 + i, "ts": k} for i in range(100)]
            want.update({r["id"]: r["v"] for r in rows})
            for mode in modes:
                self.load(self.write(rows), table=mode)
        for mode in modes:
            self.assertEqual(dict(self.values(f"SELECT id, v FROM {mode}")), want, mode)
        self.create(name="refused", **{"sluice__log__index": "footer"})
        self.refuses("INSERT INTO refused VALUES ('a', 1, 1)", "Hudi 1.x")


class Rollback(Log):
    def test_to_an_instant(self):
        self.create()
        done = [self.load(self.write([{"id": i, "v": 1, "ts": 1} for i in ids]))["snapshots"][0] for ids in ("ab", "bc", "cd")]
        self.ok("rollback", "-w", self.warehouse, "--snapshot", done[0], "t")
        self.assertEqual(self.values(), [("a", 1), ("b", 1)])
        self.sql("INSERT INTO t VALUES ('z', 2, 2)")
        self.assertEqual(self.values(), [("a", 1), ("b", 1), ("z", 2)])

    def test_next_writer_takes_back_what_died(self):
        self.create()
        self.sql("INSERT INTO t VALUES ('a', 1, 1), ('b', 1, 1)")
        points = ["publish.prepared", "publish.inflight", "publish.begun", "publish.marked", "emit.named", "publish.before_complete",
                  "publish.before_rename", "publish.completed"]
        done = 0
        for i, point in enumerate(points):
            r = sluice.run("sql", "-w", self.warehouse, "-e", f"INSERT INTO t VALUES ('a', {i + 10}, {i + 10}), ('n{i}', 1, 1)",
                           env={"SLUICE_FAILPOINT": f"{point}=exit"})
            self.assertNotEqual(r.status, 0, point)
            done = i if point == "publish.completed" else done
            self.assertEqual(self.values("SELECT count(*) AS n FROM t"), [(3 if done else 2,)], point)
        self.sql("INSERT INTO t VALUES ('b', 5, 5)")
        self.assertEqual(self.values(), [("a", done + 10), ("b", 5), (f"n{done}", 1)])
        self.assertEqual(len(self.files(".log.")), 2, "what died left nothing")

    def test_a_rollback_that_died_is_run_again(self):
        self.create()
        self.sql("INSERT INTO t VALUES ('a', 1, 1)")
        for point in ("rollback.planned", "rollback.begun", "rollback.removing", "rollback.removed", "rollback.done"):
            r = sluice.run("sql", "-w", self.warehouse, "-e", "INSERT INTO t VALUES ('a', 2, 2)", env={"SLUICE_FAILPOINT": "publish.before_rename=exit"})
            self.assertNotEqual(r.status, 0)
            r = sluice.run("rollback", "-w", self.warehouse, "t", env={"SLUICE_FAILPOINT": f"{point}=exit"})
            self.assertNotEqual(r.status, 0, point)
            self.assertEqual(self.values(), [("a", 1)], point)
        self.ok("rollback", "-w", self.warehouse, "t")
        self.assertEqual(self.files(".log."), [])
        self.sql("INSERT INTO t VALUES ('a', 3, 3)")
        self.assertEqual(self.values(), [("a", 3)])

    def test_a_frozen_writer_publishes_nothing(self):
        for i, point in enumerate(("publish.begun", "publish.marked", "emit.named", "publish.before_complete", "publish.before_rename")):
            name = f"t{i}"
            self.create(name=name)
            self.sql(f"INSERT INTO {name} VALUES ('a', 1, 1)")
            frozen = sluice.start("sql", "-w", self.warehouse, "-e", f"INSERT INTO {name} VALUES ('a', 2, 2), ('b', 2, 2)",
                                  env={"SLUICE_FAILPOINT": f"{point}:1=stop"}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            sluice.wait_stopped(frozen)
            self.ok("rollback", "-w", self.warehouse, "--force", name)
            self.sql(f"INSERT INTO {name} VALUES ('c', 3, 3)")
            frozen.send_signal(signal.SIGCONT)
            err = frozen.communicate(timeout=60)[1].decode()
            self.assertNotEqual(frozen.returncode, 0, point)
            self.assertIn("while this one did not run", err, point)
            self.assertEqual(self.values(f"SELECT id, v FROM {name} ORDER BY id"), [("a", 1), ("c", 3)], point)
            self.sql(f"INSERT INTO {name} VALUES ('d', 4, 4)")
            self.assertEqual(len(self.values(f"SELECT id FROM {name}")), 3, point)
            self.assertEqual(len(self.files(".log.", name)), 2, point)


class Refused(Log):
    def test_metadata_table(self):
        self.create()
        self.sql("INSERT INTO t VALUES ('a', 1, 1)")
        os.mkdir(os.path.join(self.warehouse, "default.db", "t", ".hoodie", "metadata"))
        self.refuses("INSERT INTO t VALUES ('a', 1, 1)", "metadata table")

    def test_global_index(self):
        self.create("id STRING, v INT, ts BIGINT, p INT", by="PARTITIONED BY (p)", **{"hoodie__index__type": "GLOBAL_BLOOM"})
        self.refuses("INSERT INTO t VALUES ('a', 1, 1, 1)", "GLOBAL_BLOOM")

    def test_statements(self):
        self.create()
        self.refuses("INSERT OVERWRITE t VALUES ('a', 1, 1)", "INSERT OVERWRITE of a log table is not supported")
        self.refuses("TRUNCATE TABLE t", "not supported")
        self.refuses("INSERT INTO t VALUES (NULL, 1, 1)", "\"id\" is the key")
        self.refuses("INSERT INTO t VALUES ('a', 1, NULL)", "ordering field")


if __name__ == "__main__":
    unittest.main()
