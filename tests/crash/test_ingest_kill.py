"""Loads that are killed at random points and started again: each row is there exactly once."""
import json
import os
import random
import signal
import subprocess
import time
import unittest

import sluice

ROWS = 60000 if sluice.LONG else 8000
KILLS = 60 if sluice.LONG else 12


class Kill(sluice.Case):
    def setUp(self):
        super().setUp()
        print(f"seed {sluice.SEED}")
        self.random = random.Random(sluice.SEED)
        self.sql("CREATE TABLE t (a BIGINT, b STRING) WITH ('write-mode' = 'table')")

    def load_until_done(self, *args):
        """Kills the load after random times, which grow so that it gets through in the end."""
        kills, most = 0, 0.3
        while True:
            p = sluice.start("ingest", "-w", self.warehouse, "-q", "t", "--commit-rows", "500", *args, stdin=subprocess.DEVNULL)
            try:
                self.assertEqual(p.wait(self.random.uniform(0, most) if kills < KILLS else 120), 0)
                return kills
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
                kills += 1
                most *= 1.1

    def check(self, n):
        found = self.rows("SELECT count(*) AS n, count(DISTINCT a) AS d, min(a) AS l, max(a) AS m FROM t")[0]
        self.assertEqual(found, {"n": n, "d": n, "l": 0, "m": n - 1})

    def write(self, name, first, last):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            for i in range(first, last):
                f.write(json.dumps({"a": i, "b": f"row {i}"}) + "\n")
        return path

    def test_file(self):
        path = self.write("x.ndjson", 0, ROWS)
        self.load_until_done(path, "--identity", "k")
        self.check(ROWS)

    def test_writers(self):
        path = self.write("x.ndjson", 0, ROWS)
        self.load_until_done(path, "--identity", "k", "--writers", "3")
        self.check(ROWS)

    def test_folder(self):
        os.mkdir(os.path.join(self.dir, "in"))
        for k in range(10):
            self.write(f"in/f{k}", k * ROWS // 10, (k + 1) * ROWS // 10)
        self.load_until_done(os.path.join(self.dir, "in"), "--identity", "k")
        self.check(ROWS)

    def test_compacting(self):
        path = self.write("x.ndjson", 0, ROWS)
        self.load_until_done(path, "--identity", "k", "--compact")
        self.check(ROWS)
        self.ok("verify", "-w", self.warehouse, "t")
        names = self.rows("SELECT commit_user AS u, commit_identifier AS n, commit_kind AS k, count(*) AS c FROM t$snapshots GROUP BY ALL")
        self.assertEqual([s for s in names if s["c"] > 1], [], f"seed {sluice.SEED}")
        self.assertLess(self.rows("SELECT count(*) AS n FROM t$files")[0]["n"], 5)

    def test_killed_around_the_compaction(self):
        """The process ends at each step between an APPEND and the COMPACT of the same identifier."""
        path = self.write("x.ndjson", 0, 3000)
        points = ("compact.worked", "compact.apply", "ingest-committed:6", "commit.after_manifest:7", "commit.before_publish:7",
                  "commit.after_publish:7", "commit.after_hint:7")
        for i, point in enumerate(points):
            args = ["ingest", "-w", self.warehouse, "-q", "t", path, "--identity", f"k{i}", "--commit-rows", "500", "--compact"]
            r = sluice.run(*args, env={"SLUICE_FAILPOINT": f"{point}=exit"})
            self.assertNotEqual(r.status, 0, point)
            self.ok(*args)
            found = self.rows("SELECT count(*) AS n, count(DISTINCT a) AS d FROM t")[0]
            self.assertEqual(found, {"n": 3000 * (i + 1), "d": 3000}, point)
            self.ok("verify", "-w", self.warehouse, "t")

    def test_killed_around_the_commit(self):
        path = self.write("x.ndjson", 0, 3000)
        for where in ("ingest-commit", "ingest-committed"):
            for n in (1, 2, 3):
                sluice.run("ingest", "-w", self.warehouse, "-q", "t", path, "--identity", where, "--commit-rows", "1000",
                           env={"SLUICE_FAILPOINT": f"{where}:{n}=exit"})
        for where in ("ingest-commit", "ingest-committed"):
            self.ok("ingest", "-w", self.warehouse, "-q", "t", path, "--identity", where)
        found = self.rows("SELECT count(*) AS n, count(DISTINCT a) AS d FROM t")[0]
        self.assertEqual(found, {"n": 6000, "d": 3000})

    def test_failing_store_and_memory(self):
        """The n-th step of the store, or the n-th allocation, fails: an error, and the next run makes up for it."""
        path = self.write("x.ndjson", 0, 600)
        done = 0
        for variable, numbers in (("SLUICE_FAIL_STORE", range(1, 200)), ("SLUICE_FAIL_ALLOC", range(1, 20000))):
            for n in sorted(self.random.sample(numbers, 120 if sluice.LONG else 12)):
                args = ["ingest", "-w", self.warehouse, "-q", "t", path, "--identity", f"i{done}", "--commit-rows", "250"]
                r = sluice.run(*args, env={variable: str(n)})
                self.assertIn(r.status, (0, 7, 9, 11), f"{variable}={n}: {r!r}")
                self.ok(*args)
                done += 1
                found = self.rows("SELECT count(*) AS n, count(DISTINCT a) AS d FROM t")[0]
                self.assertEqual(found, {"n": 600 * done, "d": 600}, f"{variable}={n}: {r!r}")

    def test_followed_file(self):
        path = os.path.join(self.dir, "a.log")
        open(path, "w").close()
        n, p = 0, None
        for _ in range(6):
            p = sluice.start("ingest", "-w", self.warehouse, "-q", "t", path, "--follow", "--commit-interval", "100ms")
            end = time.monotonic() + self.random.uniform(0.1, 1)
            while time.monotonic() < end:
                with open(path, "a") as f:
                    for _ in range(self.random.randrange(50)):
                        f.write(json.dumps({"a": n, "b": "x"}) + "\n")
                        n += 1
                time.sleep(0.02)
            p.kill()
            p.wait()
        p = sluice.start("ingest", "-w", self.warehouse, "-q", "t", path, "--follow", "--commit-interval", "100ms")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.rows("SELECT count(*) AS n FROM t")[0]["n"] < n:
            time.sleep(0.2)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(30), 0)
        self.check(n)


if __name__ == "__main__":
    unittest.main()
