"""Writers of one log table beside `compact --watch`, which cleans too: no row is lost, doubled or old, and readers always see a whole state."""
import subprocess
import time
import unittest

import sluice

WRITERS = 3 if sluice.LONG else 2
COMMITS = 40 if sluice.LONG else 5


class LogCompactRace(sluice.Case):
    def insert(self, writer, turn):
        """Twenty keys of the writer's own, and ten that all writers fight for; the newest turn wins."""
        return sluice.start("sql", "-w", self.warehouse, "-e",
                            f"INSERT INTO t SELECT 'w{writer}-' || i, 'p' || (i % 2), {turn}, {turn} FROM range(20) r(i);"
                            f"INSERT INTO t SELECT 'all-' || i, 'p' || (i % 2), {turn}, {turn} FROM range(10) r(i)",
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_writers_beside_a_watch(self):
        self.sql("CREATE TABLE t (id STRING, p STRING, v BIGINT, u BIGINT, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (p) "
                 "WITH ('write-mode' = 'log', 'ordering-field' = 'u', 'hoodie.compact.inline.max.delta.commits' = '2', "
                 "'hoodie.clean.commits.retained' = '2')")
        watch = sluice.start("compact", "-w", self.warehouse, "t", "--watch", "--interval", "50 ms", "--workers", "2", "--json",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: watch.poll() is None and watch.kill())
        for turn in range(1, COMMITS + 1):
            writers = [self.insert(w, turn) for w in range(WRITERS)]
            got = self.rows("SELECT count(*) AS n, count(DISTINCT id) AS d FROM t")[0]
            self.assertEqual(got["n"], got["d"])
            if turn > 1:
                self.assertEqual(got["n"], WRITERS * 20 + 10)
            for w in writers:
                _, err = w.communicate(timeout=120)
                self.assertEqual(w.returncode, 0, err)
        time.sleep(0.5)
        watch.terminate()
        out, err = watch.communicate(timeout=120)
        self.assertEqual(watch.returncode, 0, err)
        for mark in sluice.SANITIZER_STATUS:
            self.assertNotIn(mark, err.decode())
        self.assertNotIn(b'"snapshots":0,', out)
        query = "SELECT count(*) AS n, count(DISTINCT id) AS d, min(v) AS least FROM t"
        want = [{"n": WRITERS * 20 + 10, "d": WRITERS * 20 + 10, "least": COMMITS}]
        self.assertEqual(self.rows(query), want)
        self.ok("compact", "-w", self.warehouse, "t", "--all-logs")
        self.ok("expire", "-w", self.warehouse, "t", "--retain-last", "1")
        self.assertEqual(self.rows(query), want)


if __name__ == "__main__":
    unittest.main()
