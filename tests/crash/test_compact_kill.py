"""kill -9 of a coordinator at random moments, beside a writer: no row is lost or doubled, and what is left over is only rubbish."""
import json
import os
import random
import signal
import subprocess
import time
import unittest

import sluice

ROUNDS = 25 if sluice.LONG else 5


class KillCase(sluice.Case):
    def setUp(self):
        super().setUp()
        self.seed = sluice.SEED
        self.random = random.Random(self.seed)
        print(f"seed {self.seed}", flush=True)
        self.sql("CREATE TABLE t (id INT, p STRING, v STRING) PARTITIONED BY (p)")
        self.written = 0

    def fill(self, commits, rows=4):
        lines = "".join(json.dumps({"id": self.written + i, "p": "ab"[i % 2], "v": "x" * 20}) + "\n" for i in range(commits * rows))
        self.ok("ingest", "-w", self.warehouse, "t", "-", "--format", "ndjson", "--commit-rows", rows, stdin=lines)
        self.written += commits * rows

    def check(self):
        got = self.rows("SELECT count(*) AS n, count(DISTINCT id) AS d, min(id) AS least, max(id) AS most FROM t")
        self.assertEqual(got, [{"n": self.written, "d": self.written, "least": 0, "most": self.written - 1}], f"seed {self.seed}")
        self.ok("verify", "-w", self.warehouse, "t")

    def kill_after(self, seconds, *args):
        p = sluice.start("compact", "-w", self.warehouse, "t", *args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        p.send_signal(signal.SIGKILL)
        p.wait()

    def test_kill_at_random_moments(self):
        for _ in range(ROUNDS):
            self.fill(6)
            self.kill_after(self.random.uniform(0.05, 1.2), "--watch", "--workers", "2", "--interval", "50 ms")
            self.check()
        self.ok("compact", "-w", self.warehouse, "t", "--full")
        self.check()
        self.assertLessEqual(len(self.rows("SELECT * FROM t$files")), 2)

    def test_killed_beside_a_writer(self):
        source = os.path.join(self.dir, "rows")
        total = 400
        with open(source, "w", encoding="utf-8") as f:
            for i in range(total):
                f.write(json.dumps({"id": i, "p": "ab"[i % 2], "v": "y"}) + "\n")
        writer = sluice.start("ingest", "-w", self.warehouse, "t", source, "--commit-rows", "8", stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        while writer.poll() is None:
            self.kill_after(self.random.uniform(0.1, 0.8), "--watch", "--workers", "2", "--interval", "50 ms")
        error = writer.stderr.read().decode("utf-8", "replace")
        writer.stderr.close()
        self.assertEqual(writer.returncode, 0, error)
        self.written = total
        self.check()

    def test_stop_at_each_step(self):
        """The process ends at every step that has a name; applying again finishes the work."""
        points = ["compact.worked", "compact.apply", "commit.after_manifest", "commit.after_merge", "commit.after_base_list",
                  "commit.after_delta_list", "commit.before_publish", "commit.after_publish", "commit.after_hint"]
        for point in points:
            self.fill(6)
            before = len(self.rows("SELECT * FROM t$files"))
            r = sluice.run("compact", "-w", self.warehouse, "t", env={"SLUICE_FAILPOINT": f"{point}=exit"})
            self.assertNotEqual(r.status, 0, point)
            self.check()
            self.assertLessEqual(len(self.rows("SELECT * FROM t$files")), before, point)
        self.ok("compact", "-w", self.warehouse, "t", "--full")
        self.check()

    def test_results_survive_a_kill_of_apply(self):
        for point in ("compact.apply", "commit.before_publish", "commit.after_publish"):
            self.fill(6)
            plan = self.ok("compact", "-w", self.warehouse, "t", "--plan", "-").out
            work = self.ok("compact", "--work", stdin=plan).out
            r = sluice.run("compact", "--apply", "-", stdin=work, env={"SLUICE_FAILPOINT": f"{point}=exit"})
            self.assertNotEqual(r.status, 0, point)
            r = self.ok("compact", "--apply", "-", "--json", stdin=work).json()
            self.assertEqual(r["tasksDone"] + r["tasksKnown"], len(plan.splitlines()), point)
            self.assertEqual(r["tasksAgain"], 0, point)
            self.check()


if __name__ == "__main__":
    unittest.main()
