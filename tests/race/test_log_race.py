"""Many processes write one log table at once: a key is there once, whoever brought it, and nobody fails."""
import json
import os
import subprocess
import unittest

import sluice

PROCESSES, BATCHES, KEYS = (8, 40, 200) if sluice.LONG else (5, 6, 40)


class Race(sluice.Case):
    def test_same_new_keys(self):
        self.sql("CREATE TABLE t (id STRING, w INT, ts BIGINT, p STRING, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (p) "
                 "WITH ('write-mode' = 'log', 'ordering-field' = 'ts')")
        loads = []
        for w in range(PROCESSES):
            path = os.path.join(self.dir, f"in{w}")
            with open(path, "w", encoding="utf-8") as f:
                for b in range(BATCHES):
                    for k in range(KEYS):
                        f.write(json.dumps({"id": f"k{b}-{k}", "w": w, "ts": w, "p": f"p{k % 2}"}) + "\n")
            loads.append(sluice.start("ingest", "-w", self.warehouse, "-q", "t", path, "--identity", f"w{w}", "--commit-rows", str(KEYS),
                                      "--threads", "1", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
        for p in loads:
            err = p.communicate(timeout=240)[1].decode()
            self.assertEqual(p.returncode, 0, err)
        total = BATCHES * KEYS
        self.assertEqual(self.rows("SELECT count(*) AS n, count(DISTINCT id) AS d, min(w) AS l, max(w) AS m FROM t"),
                         [{"n": total, "d": total, "l": PROCESSES - 1, "m": PROCESSES - 1}], f"seed {sluice.SEED}")
        names = os.listdir(os.path.join(self.warehouse, "default.db", "t", ".hoodie"))
        done = sorted(n for n in names if n.endswith(".deltacommit"))
        self.assertEqual(len(done), PROCESSES * BATCHES)
        self.assertEqual(len(set(done)), len(done))
        self.assertNotIn("lock", names)


if __name__ == "__main__":
    unittest.main()
