"""Statements of SQL through the program: what they answer, and where errors point."""
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sluice

ORDERS = """CREATE TABLE Orders (order_id INT, order_type STRING, `date` TIMESTAMP, price INT, number INT)
PARTITIONED BY (order_type) WITH ('write-mode' = 'table')"""


class Sql(sluice.Case):
    def value(self, query):
        rows = self.rows(query)
        self.assertEqual(len(rows), 1, rows)
        return next(iter(rows[0].values()))

    def column(self, query):
        return [next(iter(r.values())) for r in self.rows(query)]

    def error(self, status, statement):
        r = self.fails(status, "sql", "-w", self.warehouse, "-e", statement, "--json")
        return json.loads(r.err.strip().splitlines()[-1])

    def points_at(self, status, statement, word, nth=0):
        """The error's offset is where WORD stands in the statement."""
        e = self.error(status, statement)
        at = -1
        for _ in range(nth + 1):
            at = statement.index(word, at + 1)
        self.assertEqual(e.get("offset"), len(statement[:at].encode()), (e, statement))
        return e


class Isolation(Sql):
    def test_delete_of_partitions_takes_what_appears_meanwhile(self):
        self.sql("CREATE TABLE t (k INT, p STRING) PARTITIONED BY (p); INSERT INTO t VALUES (1, 'a1'), (2, 'b'), (5, 'gone');"
                 "DELETE FROM t WHERE p = 'gone'")
        deleting = sluice.start("sql", "-w", self.warehouse, "-e", "DELETE FROM t WHERE p LIKE 'a%'",
                                env={"SLUICE_FAILPOINT": "rewrite.before_commit:1=stop"})
        sluice.wait_stopped(deleting)
        self.sql("INSERT INTO t VALUES (3, 'a2'), (4, 'c')")
        deleting.send_signal(signal.SIGCONT)
        self.assertEqual(deleting.wait(), 0)
        self.assertEqual(self.rows("SELECT k, p FROM t ORDER BY k"), [{"k": 2, "p": "b"}, {"k": 4, "p": "c"}])


    def test_subqueries_are_read_again_with_the_target(self):
        self.sql("CREATE TABLE t (k INT, v INT); INSERT INTO t VALUES (1, 1), (2, 2)")
        updating = sluice.start("sql", "-w", self.warehouse, "-e", "UPDATE t SET v = (SELECT sum(v) FROM t) WHERE k = 1",
                                env={"SLUICE_FAILPOINT": "rewrite.before_commit:1=stop"})
        sluice.wait_stopped(updating)
        self.sql("UPDATE t SET v = 10 WHERE k = 2")
        updating.send_signal(signal.SIGCONT)
        self.assertEqual(updating.wait(), 0)
        self.assertEqual(self.rows("SELECT k, v FROM t ORDER BY k"), [{"k": 1, "v": 11}, {"k": 2, "v": 10}])


class SeedStatements(Sql):
    """The statements of the proposal, written as it writes them."""

    def test_as_written(self):
        self.sql(ORDERS)
        os.makedirs(self.dir + "/in")
        rows = [(1, "apple", "2020-01-01 10:00:00", 2, 3), (2, "apple", "2020-03-01 10:00:00", 5, 1), (3, "pear", "2020-03-01 11:00:00", 7, 2),
                (4, None, "2020-03-02 11:00:00", 1, 1)]
        values = ", ".join("(%d, %s, TIMESTAMP '%s', %d, %d)" % (a, "NULL" if b is None else "'%s'" % b, c, d, e) for a, b, c, d, e in rows)
        self.sql("COPY (SELECT * FROM (VALUES %s) v(order_id, order_type, date, price, number)) TO '%s/in/o.parquet'" % (values, self.dir))
        self.sql("""CREATE TABLE OrderSource (order_id INT, order_type STRING, `date` TIMESTAMP, price INT, number INT)
                    WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '%s/in')""" % self.dir)
        self.sql("INSERT INTO Orders SELECT * FROM OrderSource")
        self.assertEqual(sorted(self.column("SELECT sum(price * number) FROM Orders GROUP BY DATE_FORMAT(`date`, 'yyyyMMdd\u2019)")), [1, 6, 19])
        got = self.rows("SELECT order_type, sum(*) FROM Orders GROUP BY order_type")
        self.assertEqual({r["order_type"]: list(r.values())[1] for r in got}, {"apple": 2, "pear": 1, None: 1})
        self.sql("UPDATE Orders SET order_type = 'banana' WHERE order_type = 'apple' AND `date` > "
                 "TO_TIMESTAMP('2020-02-02', 'yyyy-HH-dd\u2019)")
        # HH is the hour: the border is 2020-01-02 02:00.
        self.assertEqual(self.rows("SELECT order_id, order_type FROM Orders ORDER BY order_id"),
                         [{"order_id": 1, "order_type": "apple"}, {"order_id": 2, "order_type": "banana"},
                          {"order_id": 3, "order_type": "pear"}, {"order_id": 4, "order_type": None}])
        self.assertEqual(self.column("SHOW PARTITIONS Orders"), ["order_type=NULL", "order_type=apple", "order_type=banana", "order_type=pear"])

    def test_made_up_source(self):
        self.sql(ORDERS)
        self.sql("""CREATE TABLE OrderSource (order_id INT, order_type STRING, `date` TIMESTAMP, price INT, number INT) WITH
                    ('connector' = 'datagen', 'number-of-rows' = '1000', 'fields.order_id.kind' = 'sequence', 'fields.order_id.start' = '1',
                     'fields.order_id.end' = '5000', 'fields.order_type.length' = '1', 'fields.price.min' = '1', 'fields.price.max' = '9',
                     'fields.number.null-rate' = '0.5')""")
        self.assertEqual(self.column("SHOW TABLES"), ["OrderSource", "Orders"])
        self.sql("INSERT INTO Orders SELECT * FROM OrderSource")
        r = self.rows("SELECT count(*) n, min(order_id) a, max(order_id) b, min(price) c, max(price) d, count(DISTINCT order_type) e FROM Orders")[0]
        self.assertEqual((r["n"], r["a"], r["b"], r["c"], r["d"]), (1000, 1, 1000, 1, 9))
        self.assertLessEqual(r["e"], 16)
        self.sql("DROP TABLE OrderSource")
        self.assertEqual(self.column("SHOW TABLES"), ["Orders"])


class Definition(Sql):
    def test_databases(self):
        self.sql("CREATE DATABASE d; CREATE DATABASE IF NOT EXISTS d; CREATE TABLE d.t (a INT)")
        self.assertEqual(self.column("SHOW DATABASES"), ["d", "default"])
        self.assertEqual(self.column("USE d; SHOW TABLES"), ["t"])
        self.error(5, "CREATE DATABASE d")
        self.points_at(4, "SELECT * FROM e.t", "e.t")
        self.sql("DROP DATABASE d CASCADE")
        self.assertEqual(self.column("SHOW DATABASES"), ["default"])

    def test_create_says_itself_again(self):
        self.sql("CREATE TABLE t (a INT NOT NULL COMMENT 'it''s a', `b c` STRING, d ROW<x INT, y ARRAY<STRING>>, e MAP<STRING, INT>) "
                 "COMMENT 'all' PARTITIONED BY (a) WITH ('k' = 'v')")
        text = self.value("SHOW CREATE TABLE t")
        self.sql("DROP TABLE t")
        self.sql(text)
        self.assertEqual(self.value("SHOW CREATE TABLE t"), text)
        self.assertEqual([r["column"] for r in self.rows("DESCRIBE t")], ["a", "b c", "d", "e"])

    def test_alter(self):
        self.sql("CREATE TABLE t (a INT, b STRING); INSERT INTO t VALUES (1, 'x')")
        self.sql("ALTER TABLE t ADD COLUMN c DOUBLE FIRST; ALTER TABLE t RENAME COLUMN b TO z; ALTER TABLE t MODIFY a BIGINT; "
                 "ALTER TABLE t SET ('snapshot.num-retained.min' = '3')")
        self.sql("INSERT INTO t VALUES (2.5, 5000000000, 'y')")
        self.assertEqual(self.rows("SELECT * FROM t ORDER BY a"), [{"c": None, "a": 1, "z": "x"}, {"c": 2.5, "a": 5000000000, "z": "y"}])
        self.sql("ALTER TABLE t DROP COLUMN c; ALTER TABLE t RESET ('snapshot.num-retained.min')")
        self.assertEqual(self.rows("SELECT * FROM t VERSION AS OF 1"), [{"a": 1, "b": "x"}])
        self.error(8, "ALTER TABLE t RENAME TO u")

    def test_create_as(self):
        self.sql("CREATE TABLE t AS SELECT i AS a, 'v' || i AS b FROM range(3) r(i)")
        self.assertEqual(self.rows("FROM t ORDER BY a"), [{"a": i, "b": "v%d" % i} for i in range(3)])

    def test_names_that_differ_in_case(self):
        self.error(8, "CREATE TABLE t (a INT, A INT)")
        self.sql("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2); ALTER TABLE t RENAME COLUMN b TO A")
        self.assertEqual(self.rows("SELECT max(A), max(a) FROM t"), [{"max(A)": 2, "max(a)": 1}])
        self.points_at(8, "DELETE FROM t WHERE a = 1", "t WHERE")
        self.sql("ALTER TABLE t RENAME COLUMN A TO c")
        self.assertEqual(self.rows("SELECT A, C FROM t"), [{"a": 1, "c": 2}])

    def test_primary_key(self):
        for text in ("CREATE TABLE t (a INT, PRIMARY KEY (a) NOT ENFORCED)", "CREATE TABLE t (a INT PRIMARY KEY)"):
            e = self.points_at(8, text, "PRIMARY")
            self.assertIn("ordering-field", e["error"])


class Changes(Sql):
    def setUp(self):
        super().setUp()
        self.sql("CREATE TABLE t (a INT, b STRING, p INT) PARTITIONED BY (p)")
        self.sql("INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 1), (3, 'z', 2)")

    def all(self, query="SELECT * FROM t ORDER BY a, b, p"):
        return [tuple(r.values()) for r in self.rows(query)]

    def test_insert_columns(self):
        self.sql("INSERT INTO t (p, a) SELECT 7, 9; INSERT INTO t PARTITION (p = 8) VALUES (10, 'q'); INSERT INTO t PARTITION (p = 8) (b) VALUES ('r')")
        self.assertEqual(self.all("SELECT * FROM t WHERE p > 6 ORDER BY p, a"), [(9, None, 7), (10, "q", 8), (None, "r", 8)])
        self.points_at(3, "INSERT INTO t (a, nope) VALUES (1, 2)", "nope")
        self.points_at(3, "INSERT INTO t VALUES (1, 2)", "VALUES")
        self.points_at(3, "INSERT INTO t (a, a) VALUES (1, 2)", "a", 1)
        self.error(3, "INSERT INTO t VALUES ('x', 'y', 1)")
        self.assertEqual(self.value("SELECT count(*) FROM t"), 6)

    def test_update_delete(self):
        self.sql("UPDATE t SET a = a + 10, p = 3 WHERE b IN ('x', 'z')")
        self.assertEqual(self.all(), [(2, "y", 1), (11, "x", 3), (13, "z", 3)])
        self.sql("DELETE FROM t AS o WHERE o.p = 3 AND o.a > (SELECT min(a) + 1 FROM t WHERE p = 3)")
        self.assertEqual(self.all(), [(2, "y", 1), (11, "x", 3)])
        self.sql("DELETE FROM t WHERE p = 1")
        self.assertEqual(self.all(), [(11, "x", 3)])
        r = self.sql("UPDATE t SET a = 0 WHERE a = 999")
        self.assertIn("0 rows updated", r.out)
        self.points_at(3, "UPDATE t SET nope = 1", "nope")
        self.points_at(3, "UPDATE t SET a = nope + 1", "nope")
        self.points_at(3, "DELETE FROM t WHERE b = 'x' AND nope = 1", "nope")
        self.sql("DELETE FROM t")
        self.assertEqual(self.all(), [])

    def test_overwrite(self):
        self.sql("INSERT OVERWRITE t VALUES (5, 'n', 2)")
        self.assertEqual(self.all(), [(1, "x", 1), (2, "y", 1), (5, "n", 2)])
        self.sql("INSERT OVERWRITE t PARTITION (p = 1) VALUES (6, 'm')")
        self.assertEqual(self.all(), [(5, "n", 2), (6, "m", 1)])
        self.sql("ALTER TABLE t SET ('dynamic-partition-overwrite' = 'false'); INSERT OVERWRITE t VALUES (7, 'l', 9)")
        self.assertEqual(self.all(), [(7, "l", 9)])
        self.sql("TRUNCATE TABLE t")
        self.assertEqual(self.all(), [])

    def test_drop_partition(self):
        self.sql("ALTER TABLE t DROP PARTITION (p = 1)")
        self.assertEqual(self.all(), [(3, "z", 2)])
        self.points_at(3, "ALTER TABLE t DROP PARTITION (q = 1)", "q")

    def test_copy(self):
        self.sql("COPY t (b, a) TO '%s/o.csv'" % self.dir)
        with open(self.dir + "/o.csv") as f:
            self.assertEqual(sorted(f.read().split()), ["b,a", "x,1", "y,2", "z,3"])
        self.sql("COPY (SELECT a FROM t WHERE p = 1) TO '%s/o.parquet'" % self.dir)
        self.assertEqual(sorted(self.column("SELECT a FROM '%s/o.parquet'" % self.dir)), [1, 2])
        self.ok("sql", "-w", self.warehouse, "-e", "SELECT * FROM t", "--format", "parquet", "-o", self.dir + "/p.parquet")
        self.assertEqual(self.value("SELECT count(*) FROM '%s/p.parquet'" % self.dir), 3)

    def test_time_travel(self):
        self.sql("INSERT INTO t VALUES (4, 'w', 2); CALL create_tag('t', 'before', 1)")
        for query in ("SELECT count(*) FROM t AT (VERSION => 1)", "SELECT count(*) FROM t VERSION AS OF 1", "SELECT count(*) FROM t VERSION AS OF 'before' x",
                      "SELECT count(*) FROM t FOR SYSTEM_VERSION AS OF 1 AS x", "SELECT count(*) FROM t /*+ OPTIONS('scan.snapshot-id'='1') */",
                      "SELECT count(*) FROM t /*+ OPTIONS('scan.tag-name' = 'before') */ AS x WHERE x.a > 0", "SELECT count(x.a) FROM t AS x AT (VERSION => 'before')"):
            self.assertEqual(self.value(query), 3, query)
        time = self.value("SELECT commit_time FROM t$snapshots WHERE snapshot_id = 1")
        for query in ("SELECT count(*) FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '%s'", "SELECT count(*) FROM t TIMESTAMP AS OF '%s'",
                      "SELECT count(*) FROM t AT (TIMESTAMP => TIMESTAMP '%s')", "SELECT count(*) FROM t /*+ OPTIONS('scan.timestamp'='%s') */"):
            self.assertEqual(self.value(query % time), 3, query)
        self.assertEqual(self.value("SELECT count(*) FROM t FOR SYSTEM_TIME AS OF now()"), 4)
        self.assertEqual(self.value("SELECT (SELECT count(*) FROM t) - (SELECT count(*) FROM t VERSION AS OF 1)"), 1)
        self.error(4, "SELECT * FROM t VERSION AS OF 99")
        self.error(4, "SELECT * FROM t TIMESTAMP AS OF '2001-01-01 00:00:00'")

    def test_explain_prunes(self):
        text = self.sql("EXPLAIN SELECT * FROM t WHERE p = 2").out
        self.assertIn("1 of 2 files kept (1 pruned by partition, 0 by statistics)", text)
        self.assertIn("where p = 2", text)
        self.assertIn("1 of 2 files kept", self.sql("EXPLAIN SELECT * FROM t x JOIN t y ON x.a = y.a WHERE x.a > 2").out)
        self.assertIn("2 of 2 files kept", self.sql("SET 'sluice.prune' = 'off'; EXPLAIN SELECT * FROM t WHERE p = 2").out)


class Queries(Sql):
    def setUp(self):
        super().setUp()
        self.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT, b ROW<x INT, y STRING>); CREATE TABLE t (a INT, c ARRAY<INT>, m MAP<STRING, DOUBLE>)")
        self.sql("INSERT INTO d.t VALUES (1, {'x': 1, 'y': 'one'}), (2, NULL); INSERT INTO t VALUES (1, [1, NULL, 3], MAP {'k': 0.5}), (3, NULL, NULL)")

    def test_names(self):
        self.assertEqual(self.column("SELECT d.t.a FROM d.t ORDER BY 1"), [1, 2])
        self.assertEqual(self.column("SELECT t.a FROM t ORDER BY 1"), [1, 3])
        self.assertEqual(self.column("SELECT default.t.a FROM default.t WHERE `default`.t.a > 1"), [3])
        self.assertEqual(self.column("SELECT `a` FROM `d`.`t` WHERE `t`.`a` = 2"), [2])
        self.assertEqual(self.column("SELECT `a` FROM `t` WHERE `a` = 3"), [3])
        self.assertEqual(self.column("SELECT version AS of FROM (SELECT 1 AS version)"), [1])
        self.assertEqual(self.column("SELECT x.a FROM d.t AS x JOIN t AS y USING (a)"), [1])
        self.assertEqual(self.column("WITH t AS (SELECT a + 100 AS a FROM t) SELECT a FROM t ORDER BY a"), [101, 103])
        self.assertEqual(self.column("WITH t AS (SELECT 7 AS a), u AS (SELECT * FROM t) SELECT a FROM u"), [7])
        self.assertEqual(self.column("WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 3) SELECT i FROM r ORDER BY i"), [1, 2, 3])
        self.assertEqual(self.column("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM d.t u WHERE u.a = t.a)"), [1])
        self.assertEqual(self.column("FROM t SELECT a ORDER BY a"), [1, 3])
        self.assertEqual(self.column("SELECT x.b.y FROM d.t x WHERE x.b.x = 1"), ["one"])
        self.assertEqual(self.value("SELECT count(*) FROM (SUMMARIZE t)"), 3)
        self.assertEqual(len(self.rows("TABLE t")), 2)

    def test_path(self):
        path = os.path.join(self.warehouse, "d.db/t")
        self.assertEqual(self.column("SELECT a FROM '%s' ORDER BY a" % path), [1, 2])
        self.assertEqual(self.value("SELECT count(*) FROM '%s$snapshots'" % path), 1)
        self.assertEqual(self.column("SELECT x.a FROM '%s' AS x WHERE x.a = 2" % path), [2])

    def test_nested_json(self):
        self.assertEqual(self.rows("SELECT * FROM t ORDER BY a"), [{"a": 1, "c": [1, None, 3], "m": {"k": 0.5}}, {"a": 3, "c": None, "m": None}])

    def test_system_tables(self):
        self.assertEqual(self.value("SELECT count(*) FROM t$files"), 1)
        self.assertEqual(self.value("SELECT sum(record_count) FROM d.t$files"), 2)
        self.assertEqual(self.value("SELECT value FROM t$options WHERE key = 'bucket'"), "-1")
        self.assertEqual(self.value("SELECT count(*) FROM t$schemas"), 1)
        self.assertEqual(self.value("SELECT count(*) FROM t$snapshots a, t$snapshots b"), 1)
        self.assertEqual(len(self.rows("SHOW SNAPSHOTS t")), 1)
        self.error(4, "SELECT * FROM t$nope")

    def test_errors_point(self):
        self.points_at(4, "SELECT *\n  FROM t JOIN nothing USING (a)", "nothing")
        self.points_at(3, "SELECT nope\nFROM t", "nope")
        self.points_at(3, "SELECT `a`, a b c FROM t", "c")
        self.points_at(3, "SELECT DATE_FORMAT(now(), 'yyyy-QQQ') FROM t", "QQQ")
        self.points_at(3, "SELECT TO_TIMESTAMP('2020-13-01', 'yyyy-MM-dd')", "'2020-13-01'")
        self.points_at(3, "SELECT a FROM t; SELEC 1", "SELEC", 1)
        self.points_at(3, "SELECT 'open", "'open")
        r = self.fails(4, "sql", "-w", self.warehouse, "-e", "SELECT *\n  FROM nothing")
        self.assertIn("line 2, column 8", r.err)
        self.assertIn("  FROM nothing\n         ^", r.err)

    def test_java_patterns(self):
        self.sql("CREATE TABLE s (x STRING, p STRING, z TIMESTAMP); INSERT INTO s VALUES ('04/03/2024', 'dd/MM/yyyy', TIMESTAMP '2024-03-04 15:06:07.089')")
        self.assertEqual(self.value("SELECT TO_TIMESTAMP(x, p) FROM s"), "2024-03-04 00:00:00")
        self.assertEqual(self.value("SELECT TO_TIMESTAMP(x, 'dd/MM/yyyy') FROM s"), "2024-03-04 00:00:00")
        self.assertEqual(self.value("SELECT DATE_FORMAT(z, p) FROM s"), "04/03/2024")
        self.assertEqual(self.value("SELECT DATE_FORMAT(z, 'kk:mm:ss.SS') FROM s"), "15:06:07.08")
        self.assertEqual(self.value("SELECT TO_TIMESTAMP('2024-03-04 01:02:03')"), "2024-03-04 01:02:03")
        self.error(3, "SELECT TO_TIMESTAMP(x, 'yyyy') FROM s")
        self.assertIsNone(self.value("SELECT TRY(TO_TIMESTAMP(x, 'yyyy')) FROM s"))

    def test_formats(self):
        q = "SELECT 1 AS a, 'x,\"y' AS b, NULL AS c, '' AS d, true AS e, 1.50 AS f, [1] AS g"
        self.assertEqual(self.sql(q, "--format", "csv").out, 'a,b,c,d,e,f,g\n1,"x,""y",,"",true,1.50,[1]\n')
        self.assertEqual(self.sql(q, "--format", "json").json(), [{"a": 1, "b": 'x,"y', "c": None, "d": "", "e": True, "f": 1.5, "g": [1]}])
        self.assertIn("NULL", self.sql(q).out)
        self.fails(2, "sql", "-e", q, "--format", "parquet")

    def test_values_that_do_not_fit(self):
        self.sql("CREATE TABLE fits (a STRING, d DATE, ts TIMESTAMP)")
        for row in (r"'\xff'::BLOB, NULL, NULL", "NULL, DATE 'infinity', NULL", "NULL, NULL, TIMESTAMP 'infinity'",
                    "NULL, DATE '10000-01-01', NULL", "NULL, NULL, TIMESTAMP '0044-03-15 (BC) 00:00:00'"):
            self.assertNotEqual(sluice.run("sql", "-w", self.warehouse, "-e", f"INSERT INTO fits VALUES ({row})").status, 0, row)
        self.sql("INSERT INTO fits VALUES ('abc'::BLOB, DATE '9999-12-31', TIMESTAMP '0001-01-01 00:00:00')")
        self.assertEqual(self.rows("SELECT a FROM fits"), [{"a": "abc"}])

    def test_pipe(self):
        r = self.ok("sql", "-w", self.warehouse, "--format", "ndjson", stdin="SELECT 1\n AS a; SELECT ';' AS b;\n-- the end\nSELECT 2 AS c")
        self.assertEqual(r.lines(), [{"a": 1}, {"b": ";"}, {"c": 2}])
        r = self.ok("sql", "-w", self.warehouse, "--format", "ndjson", "--keep-going", stdin="SELECT nope;\nSELECT 1 AS a;\n")
        self.assertEqual(r.lines(), [{"a": 1}])
        self.assertIn("nope", r.err)
        r = self.ok("sql", "-w", self.warehouse, "--format", "ndjson", "--keep-going", stdin="SELECT 7 AS a; SELECT nope; SELECT ';' AS a;\n")
        self.assertEqual(r.lines(), [{"a": 7}, {"a": ";"}])

    def test_settings(self):
        self.assertEqual(self.rows("SET 'a.b' = 'c'; SET"), [{"key": "a.b", "value": "c"}])
        self.assertEqual(self.value("SET threads = 1; SELECT current_setting('threads')"), 1)
        self.points_at(3, "SET 'sluice.prune' = 'maybe'", "'maybe'")


class Sources(Sql):
    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write(text)
        return os.path.join(self.dir, name)

    def test_json_and_csv(self):
        path = self.write("a.ndjson", '{"i":9007199254740993,"m":1.50,"t":"2024-01-02 03:04:05","r":{"x":[1,null]}}\n{"i":2}\n')
        self.sql("CREATE TABLE j (i BIGINT, m DECIMAL(5, 2), t TIMESTAMP, r ROW<x ARRAY<INT>>) WITH ('connector' = 'filesystem', "
                 "'format' = 'json', 'path' = '%s')" % path)
        self.assertEqual(self.rows("SELECT * FROM j"), [{"i": 9007199254740993, "m": 1.5, "t": "2024-01-02 03:04:05", "r": {"x": [1, None]}},
                                                        {"i": 2, "m": None, "t": None, "r": None}])
        self.assertEqual(self.value("SELECT count(*) FROM j a, j b"), 4)
        self.assertEqual(self.value("WITH x AS NOT MATERIALIZED (FROM j) SELECT count(*) FROM x a, x b"), 4)
        self.write("a.ndjson", '{"i":1}\n{"i":1.5}\n')
        self.assertIn("a.ndjson", self.error(3, "SELECT count(*) FROM j WHERE i > 0")["error"])
        path = self.write("b.csv", '1;"x;y";\n2;;3.5\n')
        self.sql("CREATE TABLE c (i INT, s STRING, d DOUBLE) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '%s', "
                 "'csv.field-delimiter' = ';')" % path)
        self.assertEqual(self.rows("SELECT * FROM c"), [{"i": 1, "s": "x;y", "d": None}, {"i": 2, "s": None, "d": 3.5}])
        self.error(8, "UPDATE c SET i = 1")
        self.error(5, "CREATE TABLE c (i INT)")
        self.assertIn("'connector' = 'filesystem'", self.value("SHOW CREATE TABLE c"))

    def stream(self, statement, until):
        """Runs a streaming INSERT until the query UNTIL is true, then interrupts it."""
        p = sluice.start("sql", "-w", self.warehouse, "-e", "SET 'pipeline.name' = 'p'; SET 'execution.checkpointing.interval' = '300ms'; " + statement,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        end = time.monotonic() + 40
        try:
            while not self.value(until):
                self.assertIsNone(p.poll(), "ended early")
                self.assertLess(time.monotonic(), end, "too slow")
                time.sleep(0.2)
        finally:
            p.send_signal(signal.SIGINT)
            out = p.communicate(timeout=40)[0].decode()
        self.assertEqual(p.returncode, 0, out)

    def test_stream_of_made_up_rows(self):
        self.sql("CREATE TABLE g (i BIGINT, s STRING) WITH ('connector' = 'datagen', 'rows-per-second' = '1000'); CREATE TABLE t (n BIGINT)")
        self.assertIn("never ends", self.error(8, "SELECT * FROM g")["error"])
        self.assertIn("pipeline.name", self.error(3, "INSERT INTO t SELECT i FROM g")["hint"])
        for bad in ("max(i)", "row_number() OVER ()", "(SELECT 1)"):
            self.error(8, "SET 'pipeline.name' = 'p'; INSERT INTO t SELECT %s FROM g" % bad)
        for bad in ("SELECT DISTINCT i FROM g", "SELECT i FROM g ORDER BY i", "SELECT i FROM g GROUP BY i", "SELECT a.i FROM g a, t"):
            self.error(8, "SET 'pipeline.name' = 'p'; INSERT INTO t " + bad)
        self.stream("INSERT INTO t SELECT length(s) FROM g", "SELECT count(*) >= 600 FROM t")
        before = self.value("SELECT count(*) FROM t")
        self.assertEqual(before % 300, 0)
        self.stream("INSERT INTO t SELECT length(s) FROM g", "SELECT count(*) > %d FROM t" % before)
        identifiers = self.column("SELECT commit_identifier FROM t$snapshots ORDER BY snapshot_id")
        self.assertEqual(identifiers, [300 * (i + 1) for i in range(len(identifiers))])

    def test_stream_of_files(self):
        os.makedirs(self.dir + "/in")
        self.write("in/a.ndjson", '{"i":1,"s":"x"}\n')
        self.sql("CREATE TABLE f (i BIGINT, s STRING) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '%s/in', "
                 "'source.monitor-interval' = '1s'); CREATE TABLE t (s STRING, i BIGINT)" % self.dir)
        insert = "INSERT INTO t (i, s) SELECT i + 1, upper(s) FROM f WHERE i < 100"
        self.stream(insert, "SELECT count(*) = 1 FROM t")
        self.write("in/b.ndjson", '{"i":2,"s":"y"}\n{"i":200,"s":"z"}\n')
        self.stream(insert, "SELECT count(*) = 2 FROM t")
        self.assertEqual(self.rows("SELECT * FROM t ORDER BY i"), [{"s": "X", "i": 2}, {"s": "Y", "i": 3}])


class Shell(sluice.Case):
    """The interactive shell on a terminal of its own."""

    def test_typing(self):
        self.sql("CREATE TABLE wonderful (a INT)")
        pid, fd = pty.fork()
        if pid == 0:
            # A library for editing lines keeps some of its memory to the end.
            env = dict(os.environ, HOME=self.dir, TERM="xterm", ASAN_OPTIONS="detect_leaks=0")
            os.execve(sluice.BIN, [sluice.BIN, "sql", "-w", self.warehouse], env)

        def expect(text, seconds=30):
            seen, end = b"", time.monotonic() + seconds
            while text not in seen:
                self.assertLess(time.monotonic(), end, (text, seen))
                if select.select([fd], [], [], 0.2)[0]:
                    try:
                        seen += os.read(fd, 65536)
                    except OSError:
                        self.fail("the shell ended: %r" % seen)
            return seen

        def send(text):
            os.write(fd, text)

        expect(b"sluice> ")
        send(b"select 40\n")
        expect(b"...> ")
        send(b"+ 2 as answer;\n")
        expect(b"42")
        send(b"select count(*) from wonder\t")
        expect(b"ful ")
        send(b";\n")
        expect(b"(1 row")
        send(b"select nope;\n")
        expect(b"error")
        send(b"select 1 from\x03")
        expect(b"sluice> ")
        time.sleep(0.5) # what the prompt has not taken yet, Ctrl-C takes away
        send(b"select 'begun'; select count(*) from range(10000000000) a, range(1000) b;\n")
        expect(b"(1 row")
        time.sleep(1)
        send(b"\x03")
        expect(b"interrupted")
        send(b"select 'still ' || 'here';\n")
        expect(b"still here")
        send(b".quit\n")
        os.waitpid(pid, 0)
        os.close(fd)
        with open(self.dir + "/.sluice_history") as f:
            self.assertIn("answer", f.read())


class Pruning(Sql):
    """Answers with and without pruning are the same."""

    def test_same_answers(self):
        import random
        rng = random.Random(sluice.SEED)
        print("seed", sluice.SEED)
        self.sql("CREATE TABLE t (i INT, s STRING, d DATE, m DECIMAL(8, 2), f DOUBLE, z TIMESTAMP, p STRING) PARTITIONED BY (p)")
        for part in range(6):
            self.sql("INSERT INTO t SELECT CASE WHEN i %% 7 = 0 THEN NULL ELSE i END, CASE WHEN i %% 5 = 0 THEN NULL ELSE chr(97 + i::INT %% 26) || i END, "
                     "DATE '2024-01-01' + i::INT, i / 4, CASE WHEN i %% 11 = 0 THEN 'nan'::DOUBLE ELSE i / 3 END, TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR, "
                     "CASE WHEN %d = 5 THEN NULL ELSE 'p%d' END FROM range(%d, %d) r(i)" % (part, part % 3, part * 20, part * 20 + 30))
        atoms = ["i {op} {n}", "i IS NULL", "i BETWEEN {n} AND {n} + 9", "s {op} '{c}'", "s LIKE '{c}%'", "s IS NOT NULL", "d {op} DATE '2024-01-01' + {n}",
                 "d {op} '2024-02-{day}'", "m {op} {n}.5", "f {op} {n}", "z {op} TIMESTAMP '2024-01-03 {hour}:30:00'", "p {op} 'p1'", "p IN ('p0', 'p2')", "p IS NULL",
                 "i IN ({n}, {n} + 40, NULL)", "d {op} TIMESTAMP '2024-02-{day} 12:00:00'", "i + 1 {op} {n}", "f = 'nan'", "NOT (i {op} {n})", "{n} {op} i"]

        def atom():
            return rng.choice(atoms).format(op=rng.choice(["=", "<>", "<", "<=", ">", ">="]), n=rng.randrange(-5, 140), c=rng.choice("abcmyz"),
                                            day="%02d" % rng.randrange(1, 28), hour="%02d" % rng.randrange(24))

        def condition(depth):
            if depth == 0 or rng.random() < 0.3:
                return atom()
            return "(%s %s %s)" % (condition(depth - 1), rng.choice(["AND", "OR"]), condition(depth - 1))

        conditions = [condition(3) for _ in range(120)]
        query = "SELECT count(*) AS n, sum(hash(i, s, d)) AS h FROM t WHERE %s;\n"
        text = "".join(query % c for c in conditions)
        pruned = self.ok("sql", "-w", self.warehouse, "--format", "ndjson", stdin=text).lines()
        whole = self.ok("sql", "-w", self.warehouse, "--format", "ndjson", stdin="SET 'sluice.prune' = 'off';\n" + text).lines()
        for c, a, b in zip(conditions, pruned, whole):
            self.assertEqual(a, b, c)
        self.assertEqual(len(pruned), len(conditions))


if __name__ == "__main__":
    unittest.main()
