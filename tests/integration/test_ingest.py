"""sluice ingest: formats, bad rows, commits, positions, followed files and folders, through the program."""
import base64
import json
import os
import re
import signal
import subprocess
import time
import unittest
import urllib.request

import sluice


def line(i):
    return json.dumps({"a": i, "b": f"row {i}"}) + "\n"


def text(first, last):
    return "".join(line(i) for i in range(first, last))


class IngestCase(sluice.Case):
    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content, mode="w"):
        if isinstance(content, bytes):
            mode += "b"
        with open(self.path(name), mode) as f:
            f.write(content)
        return self.path(name)

    def ingest(self, *args, **kw):
        return self.ok("ingest", "-w", self.warehouse, "-q", "--threads", "2", *args, **kw)

    def ingest_json(self, *args, **kw):
        return self.ingest("--json", *args, **kw).json()

    def ingest_fails(self, status, *args, **kw):
        return self.fails(status, "ingest", "-w", self.warehouse, "-q", *args, **kw)

    def table(self, columns="a BIGINT, b STRING", more=""):
        self.sql(f"CREATE TABLE t ({columns}) {more} WITH ('write-mode' = 'table')")

    def numbers(self):
        return [r["a"] for r in self.rows("SELECT a FROM t ORDER BY a")]

    def check(self, n):
        """The rows 0 to n - 1, each once."""
        found = self.rows("SELECT count(*) AS n, count(DISTINCT a) AS d, min(a) AS l, max(a) AS m FROM t")[0]
        self.assertEqual(found, {"n": n, "d": n, "l": 0 if n else None, "m": n - 1 if n else None})


class Formats(IngestCase):
    def test_nulls_of_one_csv_column_come_back(self):
        self.sql("CREATE TABLE s (a INT); CREATE TABLE t (a INT); INSERT INTO s VALUES (1), (NULL), (3), (NULL)")
        self.ok("sql", "-w", self.warehouse, "-e", "SELECT a FROM s", "--format", "csv", "-o", self.path("s.csv"))
        self.ingest("t", self.path("s.csv"))
        self.assertEqual(self.rows("SELECT count(*) AS n, count(a) AS a FROM t"), [{"n": 4, "a": 2}])

    def test_ndjson_values(self):
        self.table("a BIGINT, b STRING, c DECIMAL(38, 10), d DATE, e TIMESTAMP(6), f BOOLEAN, g DOUBLE, h BYTES, i ARRAY<INT>, "
                   "j MAP<STRING, INT>, k ROW<x INT, y STRING>, l SMALLINT")
        row = {"a": 9223372036854775807, "b": "é\n\"", "d": "2001-02-03", "e": "2001-02-03T04:05:06.000007", "f": True, "g": 0.1,
               "h": base64.b64encode(b"\0\xff").decode(), "i": [1, None], "j": {"q": 1}, "k": {"y": "z"}, "nobody": [{}]}
        line_text = json.dumps(row)[:-1] + ', "c": 1234567890123456789012345678.0123456789}\n'
        r = self.ingest_json("t", stdin=line_text + "\n{}\n")
        self.assertEqual((r["rows"], r["commits"], r["unknownFields"]), (2, 1, 1))
        got = self.rows("SELECT a, b, c::VARCHAR AS c, d::VARCHAR AS d, e::VARCHAR AS e, f, g, hex(h) AS h, i, j['q'] AS j, k.x AS x, k.y AS y "
                        "FROM t WHERE a IS NOT NULL")
        self.assertEqual(got, [{"a": 9223372036854775807, "b": "é\n\"", "c": "1234567890123456789012345678.0123456789", "d": "2001-02-03",
                                "e": "2001-02-03 04:05:06.000007", "f": True, "g": 0.1, "h": "00FF", "i": [1, None], "j": 1, "x": None,
                                "y": "z"}])
        self.assertEqual(self.rows("SELECT count(*) AS n FROM t WHERE a IS NULL AND i IS NULL AND k IS NULL"), [{"n": 1}])

    def test_csv(self):
        self.table("a BIGINT, b STRING, c DOUBLE")
        self.write("x.csv", "b,zzz,a\r\n\"one,\r\n\"\"two\"\"\",q,1\r\n,,2\r\n\"\",,3\r\n")
        r = self.ingest_json("t", self.path("x.csv"))
        self.assertEqual((r["rows"], r["unknownFields"]), (3, 3))
        self.write("y.tsv", "4\tNA\t1.5\n5\t\"NA\"\tNA\n")
        self.ingest("t", self.path("y.tsv"), "--no-header", "--null", "NA")
        self.assertEqual(self.rows("SELECT a, b, c FROM t ORDER BY a"),
                         [{"a": 1, "b": 'one,\r\n"two"', "c": None}, {"a": 2, "b": None, "c": None}, {"a": 3, "b": "", "c": None},
                          {"a": 4, "b": None, "c": 1.5}, {"a": 5, "b": "NA", "c": None}])
        self.write("z.csv", "q,r\n1,2\n")
        self.assertIn("no name in the header", self.ingest_fails(3, "t", self.path("z.csv")).err)

    def test_parquet(self):
        self.table("a BIGINT, b STRING, c DOUBLE")
        self.sql(f"COPY (SELECT 'x' || i AS b, i AS a, true AS other FROM range(1000) r(i)) TO '{self.path('p1.parquet')}' (FORMAT parquet)")
        self.sql(f"COPY (SELECT i AS a FROM range(1000, 1300) r(i)) TO '{self.path('p2.parquet')}' (FORMAT parquet)")
        r = self.ingest_json("t", self.path("p1.parquet"), self.path("p2.parquet"), "--commit-rows", "400", "--identity", "p")
        self.assertEqual((r["rows"], r["commits"], r["unknownFields"]), (1300, 4, 1000))
        self.check(1300)
        self.assertEqual(self.rows("SELECT b FROM t WHERE a = 7"), [{"b": "x7"}])
        self.assertEqual(self.ingest_json("t", self.path("p1.parquet"), self.path("p2.parquet"), "--identity", "p")["rows"], 0)
        with open(self.path("p1.parquet"), "rb") as f:
            self.write("p3.parquet", f.read()[:-100])
        self.assertIn("p3.parquet", self.fails(7, "ingest", "-w", self.warehouse, "-q", "t", self.path("p3.parquet")).err)
        self.sql(f"COPY (SELECT 'no number' AS a) TO '{self.path('p4.parquet')}' (FORMAT parquet)")
        self.ingest_fails(3, "t", self.path("p4.parquet"))
        self.ingest_fails(8, "t", self.path("p4.parquet"), "--on-error", "skip")
        self.check(1300)

    def test_last_line_without_an_end_and_byte_order_mark(self):
        self.table()
        self.write("x.ndjson", b"\xef\xbb\xbf" + line(0).encode() + line(1).strip().encode())
        self.ingest("t", self.path("x.ndjson"))
        self.check(2)

    def test_partitions(self):
        self.table("a BIGINT, k STRING", "PARTITIONED BY (k)")
        self.ingest("t", stdin="".join(json.dumps({"a": i, "k": [None, "", "x/y", "é"][i % 4]}) + "\n" for i in range(400)))
        self.assertEqual(self.rows("SELECT k, count(*) AS n FROM t GROUP BY k ORDER BY n, k NULLS FIRST")[0]["n"], 100)
        self.check(400)


class BadRows(IngestCase):
    BAD = line(0) + '{"a": 1.5}\n' + line(1) + '{"a": 2, "b": \n' + "[3]\n" + line(2)

    def test_stop(self):
        self.table()
        r = self.ingest_fails(3, "t", self.write("x.ndjson", self.BAD))
        self.assertIn("x.ndjson\", line 2, byte 29: column \"a\": \"1.5\" is not a whole number", r.err)
        self.assertIn("--on-error", r.err)
        self.check(0)

    def test_skip(self):
        self.table()
        r = self.ingest_json("t", "--on-error", "skip", stdin=self.BAD)
        self.assertEqual((r["rows"], r["badRows"]), (3, 3))
        self.check(3)

    def test_quarantine(self):
        self.table()
        r = self.ingest_json("t", "--on-error", f"quarantine={self.path('q.ndjson')}", "--identity", "q", self.write("x.ndjson", self.BAD))
        self.assertEqual((r["rows"], r["badRows"]), (3, 3))
        with open(self.path("q.ndjson")) as f:
            rows = [json.loads(x) for x in f]
        self.assertEqual([(x["line"], x["text"]) for x in rows], [(2, '{"a": 1.5}'), (4, '{"a": 2, "b": '), (5, "[3]")])
        self.assertEqual(rows[0]["offset"], len(line(0)))
        self.assertEqual(self.ingest_json("t", "--on-error", f"quarantine={self.path('q.ndjson')}", "--identity", "q",
                                          self.path("x.ndjson"))["badRows"], 0)

    def test_row_kinds(self):
        self.table()
        for kind in ("-U", "+U", "-D", "delete"):
            r = self.ingest_fails(3, "t", stdin=json.dumps({"a": 1, "_row_kind": kind}) + "\n")
            self.assertIn("only takes inserts", r.err)
        self.ingest("t", stdin='{"a": 0, "_row_kind": "+I"}\n')
        r = self.ingest_fails(3, "t", "--op-field", "op", stdin='{"a": 1, "op": "update"}\n')
        self.assertIn("only takes inserts", r.err)
        self.check(1)

    def test_long_rows(self):
        self.table()
        long = json.dumps({"a": 7, "b": "x" * 3000000}) + "\n"
        r = self.ingest_fails(3, "t", "--max-row-bytes", "1MB", stdin=line(0) + long)
        self.assertIn("line 2", r.err)
        self.assertIn("max-row-bytes", r.err)
        r = self.ingest_json("t", "--max-row-bytes", "1MB", "--on-error", "skip", stdin=line(0) + long + line(1) + long)
        self.assertEqual((r["rows"], r["badRows"]), (2, 2))
        r = self.ingest_json("t", "--max-row-bytes", "100", "--on-error", "skip", stdin=line(2) + json.dumps({"b": "y" * 200}) + "\n")
        self.assertEqual((r["rows"], r["badRows"]), (1, 1))
        self.check(3)
        self.ingest("t", stdin=long)
        self.assertEqual(self.rows("SELECT length(b) AS n FROM t WHERE a = 7"), [{"n": 3000000}])

    def test_rows_that_memory_does_not_hold(self):
        """All rows or an error; rows that were read once are never written as if there had been none."""
        path = self.dir + "/big.ndjson"
        with open(path, "w", encoding="ascii") as f:
            for i in range(3):
                f.write('{"a":%d,"s":"%s"}\n' % (i, "x" * (20 << 20)))
        self.sql("CREATE TABLE big (a INT, s STRING)")
        r = sluice.run("ingest", "-q", "-w", self.warehouse, "--memory", "96MB", "--commit-rows", "1", "big", path, timeout=60)
        self.assertIn(r.status, (0, 9), r)
        self.assertEqual(self.rows("SELECT count(*) AS n FROM big")[0]["n"], 3 if r.status == 0 else 0)

    def test_limit_of_file_size(self):
        path = self.dir + "/in.ndjson"
        with open(path, "w", encoding="ascii") as f:
            f.writelines('{"a":%d,"s":"%x"}\n' % (i, i * 7919 * 104729) for i in range(20000))
        self.sql("CREATE TABLE t (a INT, s STRING)")
        r = subprocess.run(["sh", "-c", 'ulimit -f 40; exec "$@"', "sh", sluice.BIN, "ingest", "-q", "-w", self.warehouse, "t", path],
                           capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 10, r)
        self.assertEqual(self.rows("SELECT count(*) AS n FROM t")[0]["n"], 0)

    def test_unknown_fields(self):
        self.table()
        r = self.ingest_fails(3, "t", "--unknown-fields", "error", stdin='{"a": 1, "z": 1}\n')
        self.assertIn('"z"', r.err)

    def test_not_null_and_lengths(self):
        self.table("a BIGINT NOT NULL, b VARCHAR(3)")
        self.assertIn("NOT NULL", self.ingest_fails(3, "t", stdin='{"b": "x"}\n').err)
        self.assertIn("NOT NULL", self.ingest_fails(3, "t", stdin='{"a": null}\n').err)
        self.assertIn("at most 3", self.ingest_fails(3, "t", stdin='{"a": 1, "b": "abcd"}\n').err)
        self.check(0)

    def test_dry_run(self):
        self.table()
        r = self.ingest_json("t", "--dry-run", "--on-error", "skip", stdin=self.BAD)
        self.assertEqual((r["rows"], r["badRows"], r["commits"]), (3, 3, 0))
        self.check(0)


class Commits(IngestCase):
    def test_cut_by_rows_and_bytes(self):
        self.table()
        r = self.ingest_json("t", "--commit-rows", "300", self.write("x.ndjson", text(0, 1000)))
        self.assertEqual((r["commits"], len(r["snapshots"])), (4, 4))
        r = self.ingest_json("t", "--commit-bytes", "5000", self.write("y.ndjson", text(1000, 2000)))
        self.assertGreaterEqual(r["commits"], 5)
        self.check(2000)

    def test_writers(self):
        self.table()
        r = self.ingest_json("t", "--commit-rows", "500", "--writers", "4", "--identity", "w", self.write("x.ndjson", text(0, 20000)))
        self.assertEqual(r["commits"], 40)
        self.assertEqual(r["position"]["at"]["offset"], os.path.getsize(self.path("x.ndjson")))
        self.check(20000)

    def test_interval(self):
        self.table()
        read, write = os.pipe()
        p = sluice.start("ingest", "-w", self.warehouse, "-q", "t", "--commit-interval", "300ms", stdin=read)
        os.close(read)
        try:
            os.write(write, line(0).encode())
            deadline = time.monotonic() + 20
            while not self.numbers() and time.monotonic() < deadline:
                time.sleep(0.1)
            self.check(1)
            os.write(write, line(1).encode())
        finally:
            os.close(write)
        self.assertEqual(p.wait(20), 0)
        self.check(2)

    def test_compaction_beside(self):
        self.table()
        r = self.ingest_json("t", "--commit-rows", "100", "--compact", self.write("x.ndjson", text(0, 6000)))
        self.assertEqual(r["commits"], 60)
        self.assertLess(self.rows("SELECT count(*) AS n FROM t$files")[0]["n"], 60)
        self.check(6000)
        self.sql("CREATE TABLE u (a BIGINT) WITH ('write-mode' = 'table', 'write-only' = 'false')")
        self.ingest("u", "--commit-rows", "100", self.path("x.ndjson"))
        self.assertLess(self.rows("SELECT count(*) AS n FROM u$files")[0]["n"], 60)

    def snapshots(self, table="t"):
        return self.rows(f"SELECT snapshot_id AS id, commit_user AS user, commit_identifier AS n, commit_kind AS kind FROM {table}$snapshots "
                         "ORDER BY 1")

    def test_compaction_goes_by_the_identifier(self):
        """APPEND then COMPACT under one user and one identifier."""
        self.table()
        self.ingest("t", "--commit-rows", "100", "--compact", "--identity", "one", self.write("x.ndjson", text(0, 1000)))
        found = self.snapshots()
        appends = [s for s in found if s["kind"] == "APPEND"]
        self.assertEqual([s["n"] for s in appends], list(range(1, 11)))
        last = [s for s in found if s["kind"] == "COMPACT"][-1]
        self.assertEqual((last["user"], last["n"]), (appends[-1]["user"], 10))
        self.assertEqual(last["id"], found[-1]["id"])
        self.assertEqual(self.rows("SELECT count(*) AS n FROM t$files")[0]["n"], 1)
        self.check(1000)
        # Started again: what is in is found by the APPEND, and new identifiers go on behind it.
        with open(self.path("x.ndjson"), "a", encoding="utf-8") as f:
            f.write(text(1000, 1500))
        self.ingest("t", "--commit-rows", "100", "--compact", "--identity", "one", self.path("x.ndjson"))
        self.assertEqual([s["n"] for s in self.snapshots() if s["kind"] == "APPEND"], list(range(1, 16)))
        self.check(1500)
        self.ingest("t", "--identity", "one", "--from", "end", self.path("x.ndjson"))
        self.check(1500)

    def test_compaction_finds_what_was_there(self):
        """One scan at the start; the option of the table counts as --compact does."""
        self.table()
        self.ingest("t", "--commit-rows", "100", self.write("x.ndjson", text(0, 900)))
        self.sql("ALTER TABLE t SET ('write-only' = 'false')")
        self.ingest("t", self.write("y.ndjson", text(900, 1000)))
        self.assertLessEqual(self.rows("SELECT count(*) AS n FROM t$files")[0]["n"], 2)
        self.check(1000)
        self.ok("verify", "-w", self.warehouse, "t")

    def test_metrics(self):
        self.table()
        read, write = os.pipe()
        p = sluice.start("ingest", "-w", self.warehouse, "-q", "t", "--metrics", "127.0.0.1:0", "--commit-interval", "200ms", stdin=read,
                         stderr=subprocess.PIPE, text=True)
        os.close(read)
        try:
            address = re.search(r"127\.0\.0\.1:\d+", p.stderr.readline()).group()
            os.write(write, text(0, 7).encode())
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                with urllib.request.urlopen(f"http://{address}/metrics") as page:
                    found = dict(x.split() for x in page.read().decode().splitlines() if not x.startswith("#"))
                if found["sluice_ingest_rows_total"] == "7":
                    break
                time.sleep(0.1)
            self.assertEqual(found["sluice_ingest_rows_total"], "7")
            self.assertEqual(found["sluice_ingest_bytes_total"], str(len(text(0, 7))))
        finally:
            os.close(write)
            self.assertEqual(p.wait(20), 0)
            p.stderr.close()

    def test_create(self):
        r = self.ingest_json("made", "--create", "--partition-by", "k",
                             stdin='{"k": "x", "n": 1, "big": 99999999999, "d": "2001-01-01", "s": {"q": [1.5]}}\n')
        self.assertIn("`big` BIGINT", r["createSql"])
        self.assertIn("PARTITIONED BY (`k`)", r["createSql"])
        self.assertEqual(self.rows("SELECT k, n, big, s.q[1] AS q FROM made"), [{"k": "x", "n": 1, "big": 99999999999, "q": 1.5}])
        self.write("x.csv", "a,b,_row_kind\n1,x,+I\n2,y,+I\n")
        r = self.ingest_json("made2", "--create", self.path("x.csv"))
        self.assertEqual(r["createSql"], "CREATE TABLE `made2` (`a` INT, `b` STRING) WITH ('write-mode' = 'table');")
        self.sql(r["createSql"].replace("made2", "made3"))
        self.assertEqual(self.ingest_fails(4, "nobody", stdin="{}\n").status, 4)

    def test_errors_of_use(self):
        self.table()
        for args in (["t", "nobody.ndjson"], ["t", "--format", "xml"], ["t", "-", "x"], ["t", "--follow"], ["t", "--on-error", "quarantine="],
                     ["t", "--identity", "../x"], ["t", "--from", "nowhere"], ["t", "--partition-by", "k"]):
            r = sluice.run("ingest", "-w", self.warehouse, *args)
            self.assertNotEqual(r.status, 0, r)
            self.assertIn("error", r.err)


class Positions(IngestCase):
    def test_file_that_grows(self):
        self.table()
        x = self.write("x.ndjson", text(0, 1000))
        self.ingest("t", x, "--identity", "i", "--commit-rows", "300")
        self.assertEqual(self.ingest_json("t", x, "--identity", "i")["rows"], 0)
        self.write("x.ndjson", text(1000, 1500) + line(1500).strip(), "a")
        self.assertEqual(self.ingest_json("t", x, "--identity", "i")["rows"], 501)
        self.write("x.ndjson", "\n" + line(1501), "a")
        self.assertEqual(self.ingest_json("t", x, "--identity", "i")["rows"], 1)
        self.check(1502)

    def test_file_that_changed(self):
        self.table()
        x = self.write("x.ndjson", text(0, 100))
        self.ingest("t", x, "--identity", "i")
        self.write("x.ndjson", text(0, 99) + line(999) + line(100))
        r = self.ingest_fails(3, "t", x, "--identity", "i")
        self.assertIn("--from", r.err)
        self.write("x.ndjson", line(0))
        self.assertIn("shorter", self.ingest_fails(3, "t", x, "--identity", "i").err)
        self.assertEqual(self.ingest_json("t", x, "--identity", "i", "--from", "start")["rows"], 1)

    def test_standard_input(self):
        self.table()
        all_text = text(0, 3000)
        self.ingest("t", "--identity", "s", "--commit-rows", "400", stdin=text(0, 1700))
        self.ingest("t", "--identity", "s", stdin=all_text)
        self.check(3000)
        self.assertIn("other bytes", self.ingest_fails(3, "t", "--identity", "s", stdin="x" + all_text[1:]).err)
        self.assertIn("ends before", self.ingest_fails(3, "t", "--identity", "s", stdin=all_text[:100]).err)
        self.assertIn("another kind", self.ingest_fails(3, "t", "--identity", "s", self.write("x.ndjson", all_text)).err)

    def test_csv_goes_on_with_its_header(self):
        self.table()
        x = self.write("x.csv", "b,a\n" + "".join(f'"r\n{i}",{i}\n' for i in range(500)))
        self.ingest("t", x, "--identity", "c", "--commit-rows", "77")
        self.write("x.csv", "".join(f"q,{i}\n" for i in range(500, 600)), "a")
        self.ingest("t", x, "--identity", "c")
        self.check(600)

    def test_folder(self):
        self.table()
        os.mkdir(self.path("in"))
        for k in range(5):
            self.write(f"in/f{k}", text(k * 100, k * 100 + 100))
        self.write("in/.hidden", "no JSON")
        self.ingest("t", self.path("in"), "--identity", "f", "--commit-rows", "130")
        for k in range(5, 8):
            self.write(f"in/f{k}", text(k * 100, k * 100 + 100))
        self.ingest("t", self.path("in"), "--identity", "f", "--commit-rows", "130")
        self.assertEqual(self.ingest_json("t", self.path("in"), "--identity", "f")["rows"], 0)
        self.check(800)

    def test_files_one_after_the_other(self):
        """Each is known again however many came after it, also when it has grown."""
        self.table()
        for k in range(4):
            self.write(f"f{k}", text(k * 100, k * 100 + 100))
            self.ingest("t", self.path(f"f{k}"), "--identity", "i")
        for k in (0, 3, 2, 0, 1):
            self.assertEqual(self.ingest_json("t", self.path(f"f{k}"), "--identity", "i")["rows"], 0)
        self.write("f1", text(400, 450), "a")
        self.write("f0", text(450, 500), "a")
        for k in (1, 0, 1, 0, 2):
            self.ingest("t", self.path(f"f{k}"), "--identity", "i", "--commit-rows", "20")
        self.check(500)
        os.mkdir(self.path("in"))
        self.write("in/p0", text(500, 600))
        self.write("in/p1", text(600, 700))
        # a commit that ends just where a file does
        for stop in (600, 700, 700):
            for name in ("p0", "p1")[:1 + (stop > 600)]:
                self.ingest("t", self.path("in/" + name), "--identity", "d", "--commit-rows", "100")
        self.ingest("t", self.path("in"), "--identity", "d")
        self.check(700)

    def test_one_identity_one_process(self):
        self.table()
        read, write = os.pipe()
        p = sluice.start("ingest", "-w", self.warehouse, "-q", "t", "--identity", "one", stdin=read)
        os.close(read)
        try:
            # Tried too early, the second one would have the lock.
            lock = os.path.join(self.warehouse, "default.db/t/.sluice/identity/one.lock")
            deadline = time.monotonic() + 20
            while not os.path.exists(lock) and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.2)
            r = sluice.run("ingest", "-w", self.warehouse, "-q", "t", "--identity", "one", stdin="")
            self.assertEqual(r.status, 12, r)
            self.assertIn('"one"', r.err)
            self.assertEqual(sluice.run("ingest", "-w", self.warehouse, "-q", "t", "--identity", "two", stdin="").status, 0)
        finally:
            os.close(write)
        self.assertEqual(p.wait(20), 0)

    def test_position_as_reported(self):
        self.table()
        x = self.write("x.ndjson", text(0, 1000))
        r = self.ingest_json("t", x, "--identity", "i")
        self.write("x.ndjson", text(1000, 1100), "a")
        r = self.ingest_json("t", x, "--identity", "other", "--from", json.dumps(r["position"]))
        self.assertEqual(r["rows"], 100)
        self.assertEqual(self.ingest_json("t", x, "--from", str(len(text(0, 1100))))["rows"], 0)
        self.check(1100)


class Follow(IngestCase):
    def start(self, *args):
        return self.follow("t", *args)

    def follow(self, table, *args):
        p = sluice.start("ingest", "-w", self.warehouse, "-q", table, "--follow", "--commit-interval", "300ms", *args)
        self.addCleanup(lambda: p.poll() is None and p.kill())
        return p

    def wait_for(self, n, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and len(self.numbers()) < n:
            time.sleep(0.2)
        self.check(n)

    def wait_for_rows(self, table, n, seconds=20):
        deadline, found = time.monotonic() + seconds, -1
        while time.monotonic() < deadline and found < n:
            time.sleep(0.2)
            found = self.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"]
        self.assertEqual(found, n)

    def stop(self, p, number=signal.SIGTERM):
        p.send_signal(number)
        return p.wait(30)

    def test_file(self):
        self.table()
        x = self.write("a.log", text(0, 100))
        p = self.start(x)
        self.wait_for(100)
        with open(x, "a") as f: # no half line is taken
            f.write(line(100)[:9])
            f.flush()
            time.sleep(0.7)
            f.write(line(100)[9:])
        self.wait_for(101)
        os.rename(x, x + ".1")
        self.write("a.log.1", text(101, 110), "a")
        self.write("a.log", text(110, 150))
        self.wait_for(150)
        self.write("a.log", text(150, 153)) # cut: shorter than what was read
        self.wait_for(153)
        self.assertEqual(self.stop(p), 0)
        # rotated twice while nobody watched
        self.write("a.log", text(153, 160), "a")
        os.rename(x, x + ".2")
        self.write("a.log", text(160, 165))
        os.rename(x, x + ".3")
        self.write("a.log", text(165, 170))
        p = self.start(x)
        self.wait_for(170)
        self.assertEqual(self.stop(p, signal.SIGINT), 130)

    def test_writers_commit_while_one_waits_for_input(self):
        self.table()
        p = self.start(self.write("w.log", text(0, 100)), "--writers", "3")
        self.wait_for(100)
        self.write("w.log", text(100, 130), "a")
        self.wait_for(130)
        self.assertEqual(self.stop(p), 0)

    def test_rotation_after_a_restart(self):
        """The position belongs to the file it was made of, not to the next one of its name."""
        for name, first in (("same", 0), ("other", 1000)):
            with self.subTest(name):
                self.sql(f"CREATE TABLE {name} (a BIGINT, b STRING) WITH ('write-mode' = 'table')")
                x = self.write(f"{name}.log", text(0, 100))
                p = self.follow(name, x)
                self.wait_for_rows(name, 100)
                p.kill()
                p.wait()
                p = self.follow(name, x)
                time.sleep(1)
                os.rename(x, x + ".1")
                self.write(f"{name}.log", text(first, first + 150))
                self.wait_for_rows(name, 250)
                p.kill()
                p.wait()
                p = self.follow(name, x)
                self.write(f"{name}.log", text(first + 150, first + 160), "a")
                self.wait_for_rows(name, 260)
                self.assertEqual(self.stop(p), 0)

    def test_quick_rotations(self):
        """Files that had the name only for a moment are read too, in their order; those that were there before are not."""
        self.table()
        x = self.write("a.log", text(0, 100))
        self.write("a.log.7", text(7000, 7100))
        p = self.start(x)
        self.wait_for(100)
        os.rename(x, x + ".1")
        self.write("a.log", text(100, 200))
        time.sleep(0.3)
        os.rename(x + ".1", x + ".2")
        os.rename(x, x + ".1")
        self.write("a.log", text(200, 300))
        time.sleep(0.2)
        os.rename(x + ".2", x + ".3")
        os.rename(x + ".1", x + ".2")
        os.rename(x, x + ".1")
        time.sleep(0.5)
        self.write("a.log", text(300, 400))
        self.wait_for(400)
        # killed while it reads a file that was rotated already
        os.rename(x + ".1", x + ".4")
        os.rename(x, x + ".1")
        self.write("a.log", text(400, 500))
        os.rename(x, x + ".2")
        self.write("a.log", text(500, 600))
        time.sleep(1.2)
        p.kill()
        p.wait()
        p = self.start(x)
        self.wait_for(600)
        self.assertEqual(self.stop(p), 0)

    def test_schema_that_changes(self):
        """Columns that come while a load runs are read from the next commit on."""
        for kind in ("log", "csv"):
            with self.subTest(kind):
                self.sql(f"CREATE TABLE {kind} (a BIGINT) WITH ('write-mode' = 'table')")
                content = "a,c\n1,x\n" if kind == "csv" else '{"a": 1, "c": "x"}\n'
                x = self.write("s." + kind, content)
                p = self.follow(kind, x, "--identity", "s")
                self.wait_for_rows(kind, 1)
                for k in range(2, 5):
                    self.sql(f"ALTER TABLE {kind} ADD COLUMN {'bcd'[k - 2]} STRING")
                    self.write("s." + kind, f"{k},x{k}\n" if kind == "csv" else json.dumps({"a": k, "c": f"x{k}"}) + "\n", "a")
                    self.wait_for_rows(kind, k)
                self.assertEqual(self.stop(p), 0)
                self.assertEqual([r["c"] for r in self.rows(f"SELECT c FROM {kind} ORDER BY a")], [None, None, "x3", "x4"])

    def test_folder(self):
        self.table()
        os.mkdir(self.path("in"))
        p = self.start(self.path("in"))
        for k in range(3):
            self.write("in/.new", text(k * 100, k * 100 + 100))
            os.rename(self.path("in/.new"), self.path(f"in/p{k}"))
        self.wait_for(300)
        p.kill()
        p.wait()
        self.write("in/p3", text(300, 400))
        p = self.start(self.path("in"))
        self.wait_for(400)
        self.assertEqual(self.stop(p), 0)


if __name__ == "__main__":
    unittest.main()
