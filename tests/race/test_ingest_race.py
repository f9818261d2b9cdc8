"""Many processes load into one table at once while it is compacted: each row is there exactly once, and nobody fails."""
import json
import os
import signal
import subprocess
import unittest

import sluice

PROCESSES, ROWS, COMMITS = (16, 20000, 200) if sluice.LONG else (16, 1000, 10)


class Race(sluice.Case):
    def write(self, k):
        path = os.path.join(self.dir, f"in{k}")
        with open(path, "w") as f:
            for i in range(k * ROWS, (k + 1) * ROWS):
                f.write(json.dumps({"a": i, "p": f"p{i % 3}"}) + "\n")
        return path

    def test_processes_beside_compaction(self):
        self.sql("CREATE TABLE t (a BIGINT, p STRING) PARTITIONED BY (p) WITH ('write-mode' = 'table')")
        watch = sluice.start("compact", "-w", self.warehouse, "t", "--watch", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        loads = []
        for k in range(PROCESSES):
            args = ["ingest", "-w", self.warehouse, "-q", "t", self.write(k), "--identity", f"i{k}", "--commit-rows", str(ROWS // COMMITS),
                    "--threads", "1", "--json"]
            loads.append(sluice.start(*args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        for p in loads:
            out, err = p.communicate(timeout=250)
            self.assertEqual(p.returncode, 0, err)
            self.assertEqual(json.loads(out)["commits"], COMMITS)
        watch.send_signal(signal.SIGTERM)
        _, err = watch.communicate(timeout=60)
        self.assertEqual(watch.returncode, 0, err)
        found = self.rows("SELECT count(*) AS n, count(DISTINCT a) AS d, min(a) AS l, max(a) AS m FROM t")[0]
        n = PROCESSES * ROWS
        self.assertEqual(found, {"n": n, "d": n, "l": 0, "m": n - 1})
        self.ok("verify", "-w", self.warehouse, "t")


if __name__ == "__main__":
    unittest.main()
