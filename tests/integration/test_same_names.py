"""Tables of other engines with columns whose names differ only in case."""
import glob
import os
import unittest

import sluice


class SameNames(sluice.Case):
    """Column2 becomes column1, in the schema and inside of the Parquet files: both texts are of one length."""

    def patch(self, *paths):
        for path in paths:
            with open(path, "rb") as f:
                content = f.read()
            with open(path, "wb") as f:
                f.write(content.replace(b"column2", b"column1"))

    def folder(self, table="t"):
        return os.path.join(self.warehouse, "default.db", table)

    def files(self, table="t"):
        return sorted(glob.glob(os.path.join(self.folder(table), "**", "data-*.parquet"), recursive=True))

    def setUp(self):
        super().setUp()
        self.sql("CREATE TABLE t (Column1 INT, column2 INT, s STRING); INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y')")
        self.patch(*self.files(), os.path.join(self.folder(), "schema", "schema-0"))
        # A second file, with the columns in another order.
        self.sql("CREATE TABLE v (column2 INT, s STRING, Column1 INT); INSERT INTO v VALUES (30, 'z', 3)")
        self.patch(*self.files("v"))
        first = self.files()
        schema = os.path.join(self.folder(), "schema", "schema-0")
        with open(schema, "rb") as f:
            kept = f.read()
        with open(schema, "wb") as f:
            f.write(kept.replace(b'"column1"', b'"column2"'))
        self.sql("INSERT INTO t VALUES (3, 30, 'z')")
        with open(schema, "wb") as f:
            f.write(kept)
        second, = set(self.files()) - set(first)
        os.replace(self.files("v")[0], second)

    def refused(self, *args, **kw):
        r = sluice.run(*args, **kw)
        self.assertNotIn(r.status, (0, None), r)
        return r

    def check(self, query, *rows):
        self.assertEqual([list(r.values()) for r in self.rows(query)], [list(r) for r in rows], query)

    def test_rows_and_headers(self):
        self.assertEqual(self.rows("SELECT * FROM t ORDER BY s"), [{"Column1": 1, "column1": 10, "s": "x"}, {"Column1": 2, "column1": 20, "s": "y"},
                                                                  {"Column1": 3, "column1": 30, "s": "z"}])
        self.assertEqual(self.rows("SELECT column1 FROM t WHERE Column1 = 2"), [{"column1": 20}])
        self.assertEqual(self.rows('SELECT t."column1", `Column1` FROM t WHERE t.column1 > 20'), [{"column1": 30, "Column1": 3}])
        self.assertEqual(self.rows("SELECT default.t.column1 AS n FROM default.t ORDER BY n DESC LIMIT 1"), [{"n": 30}])
        self.assertEqual(self.ok("sql", "-w", self.warehouse, "--format", "csv", "-e", "SELECT * FROM t LIMIT 0").out.strip(), "Column1,column1,s")
        self.assertEqual([r["column"] for r in self.rows("DESCRIBE t")], ["Column1", "column1", "s"])
        self.assertEqual([r["column_name"] for r in self.rows("DESCRIBE SELECT * FROM t")], ["Column1", "column1", "s"])
        self.assertIn("`Column1` INT", self.ok("sql", "-w", self.warehouse, "-e", "SHOW CREATE TABLE t").out)

    def test_names_in_queries(self):
        self.check("SELECT sum(column1) + sum(Column1) FROM t", [66])
        self.check("SELECT Column1 AS column1 FROM t ORDER BY column1 DESC", [3], [2], [1])
        self.check("SELECT s FROM t ORDER BY column1 DESC LIMIT 1", ["z"])
        self.check("SELECT column1 FROM (SELECT column1, Column1 FROM t) WHERE Column1 = 1", [10])
        self.check("WITH c(Column1, column1) AS (SELECT column1, Column1 FROM t) SELECT Column1, column1 FROM c ORDER BY 1 LIMIT 1", [10, 1])
        self.check("SELECT x.column1, y.Column1 FROM t AS x JOIN t AS y ON x.Column1 * 10 = y.column1 ORDER BY 1", [10, 1], [20, 2], [30, 3])
        self.check("SELECT Column1 FROM t JOIN t AS u USING (Column1) ORDER BY 1", [1], [2], [3])
        self.check("SELECT * EXCLUDE (column1) FROM t ORDER BY ALL LIMIT 1", [1, "x"])
        self.check("SELECT count(*), max(CAST(column1 AS VARCHAR)) FROM t GROUP BY column1 > 15 ORDER BY 1", [1, "10"], [2, "30"])
        # A table that has one of the names only: in any case, as before.
        self.sql("CREATE TABLE w (COLUMN1 INT, b INT); INSERT INTO w VALUES (2, 7)")
        self.check("SELECT w.column1, t.column1 FROM w JOIN t ON w.Column1 = t.Column1", [2, 20])
        self.check("SELECT b FROM w WHERE COLUMN1 IN (SELECT Column1 FROM t)", [7])
        self.check("SELECT column1 AS b FROM t WHERE s IN ('x') UNION ALL SELECT b FROM w ORDER BY 1", [7], [10])

    def test_pruning_and_time(self):
        self.check("SELECT s FROM t VERSION AS OF 1 WHERE column1 = 10", ["x"])
        self.check("SELECT s FROM t WHERE column1 = 20 AND Column1 = 2", ["y"])
        plan = self.ok("sql", "-w", self.warehouse, "-e", "EXPLAIN SELECT s FROM t WHERE column1 = 10").out
        self.assertNotIn("\x1f", plan)
        self.assertIn("where column1 = 10", plan)

    def test_refused(self):
        for query, word in (("SELECT COLUMN1 FROM t", "COLUMN1"), ("SELECT s FROM t WHERE t.coLumn1 = 1", "coLumn1"), ("SELECT t FROM t", "t FROM"),
                            ("SELECT COLUMNS('c.*') FROM t", "COLUMNS"), ("SELECT CAST(s AS column1) AS column1 FROM t", "column1)")):
            r = self.refused("sql", "-w", self.warehouse, "-e", query)
            self.assertIn(f"line 1, column {query.index(word) + 1}", r.err, query)
            self.assertNotIn("\x1f", r.err)
        for statement in ("INSERT INTO t VALUES (1, 2, '')", "UPDATE t SET column1 = 1", "CREATE TABLE n AS SELECT * FROM t", "CREATE TABLE n (a INT, A INT)"):
            self.assertIn("case", self.refused("sql", "-w", self.warehouse, "-e", statement).err, statement)
        self.assertIn("but for its case", self.refused("ingest", "-w", self.warehouse, "t", "-", stdin="").err)
        self.assertIn("column1", self.refused("sql", "-w", self.warehouse, "-e", "SELECT nothing, column1 FROM t").err)

    def test_renamed(self):
        """The way out: columns are found by their ids, so old files are read under the new name, and new ones can be written."""
        self.sql("ALTER TABLE t RENAME COLUMN column1 TO other")
        self.check("SELECT Column1, other FROM t ORDER BY 1", [1, 10], [2, 20], [3, 30])
        self.sql("INSERT INTO t VALUES (4, 40, ''); UPDATE t SET other = other + 1 WHERE Column1 = 3")
        self.check("SELECT COLUMN1, other FROM t ORDER BY 1", [1, 10], [2, 20], [3, 31], [4, 40])

    def test_copied(self):
        path = os.path.join(self.dir, "out.csv")
        self.sql(f"COPY (SELECT * FROM t ORDER BY s) TO '{path}' (HEADER)")
        with open(path, encoding="utf-8") as f:
            self.assertEqual(f.read().split(), ["Column1,column1_1,s", "1,10,x", "2,20,y", "3,30,z"])


if __name__ == "__main__":
    unittest.main()
