"""kill -9 of compaction and cleaning of a log table at random moments: no row is lost or doubled, and the next run finishes the work."""
import os
import random
import signal
import subprocess
import time
import unittest

import sluice

ROUNDS = 20 if sluice.LONG else 4


class LogCompactKill(sluice.Case):
    def test_kill_at_random_moments(self):
        rng = random.Random(sluice.SEED)
        print(f"seed {sluice.SEED}", flush=True)
        self.sql("CREATE TABLE t (id STRING, p STRING, v BIGINT, u BIGINT, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (p) "
                 "WITH ('write-mode' = 'log', 'ordering-field' = 'u', 'hoodie.compact.inline.max.delta.commits' = '1', "
                 "'hoodie.clean.commits.retained' = '1')")
        want = {}
        for turn in range(1, ROUNDS + 1):
            first = rng.randrange(50)
            want.update({f"k{i}": turn * i for i in range(first, first + 60)})
            self.sql(f"INSERT INTO t SELECT 'k' || i, 'p' || (i % 3), {turn} * i, {turn} FROM range({first}, {first + 60}) r(i)")
            p = sluice.start("compact", "-w", self.warehouse, "t", "--watch", "--workers", "2", "--interval", "20 ms",
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0.1, 1.5))
            p.send_signal(signal.SIGKILL)
            p.wait()
            self.assertEqual({r["id"]: r["v"] for r in self.rows("SELECT id, v FROM t")}, want, f"turn {turn}, seed {sluice.SEED}")
        self.ok("compact", "-w", self.warehouse, "t", "--all-logs")
        self.ok("expire", "-w", self.warehouse, "t", "--retain-last", "1")
        self.assertEqual({r["id"]: r["v"] for r in self.rows("SELECT id, v FROM t")}, want)
        # One base file a group, and nothing left of work that was killed. New keys open another group where one is being compacted.
        table = os.path.join(self.warehouse, "default.db/t")
        groups = [n.split("_")[0] for _, _, names in os.walk(table) for n in names if n.endswith(".parquet")]
        self.assertEqual(len(groups), len(set(groups)), groups)
        self.assertEqual(os.listdir(os.path.join(table, ".hoodie/.sluice/stage")), [])


if __name__ == "__main__":
    unittest.main()
