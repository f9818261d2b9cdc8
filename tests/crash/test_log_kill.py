"""Loads into log tables that are killed at random points and started again: every row counts exactly once."""
import json
import os
import random
import subprocess
import unittest

import sluice

ROWS = 20000 if sluice.LONG else 3000
KILLS = 60 if sluice.LONG else 8


class Kill(sluice.Case):
    def test_before_the_instant_has_a_name(self):
        """What a writer left that died before its instant stood in the timeline goes with the next write."""
        self.sql("CREATE TABLE t (id INT, ts INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('write-mode' = 'log', 'ordering-field' = 'ts')")
        r = sluice.run("sql", "-w", self.warehouse, "-e", "INSERT INTO t VALUES (1, 1)", env={"SLUICE_FAILPOINT": "publish.prepared=exit"})
        self.assertEqual(r.status, 99, r)
        self.assertEqual(len(self.prepared()), 1)
        self.sql("INSERT INTO t VALUES (2, 2)")
        self.assertEqual(self.prepared(), [])
        self.assertEqual(self.rows("SELECT id FROM t"), [{"id": 2}])

    def prepared(self):
        return [n for n in os.listdir(os.path.join(self.warehouse, "default.db/t/.hoodie/.sluice")) if n.startswith("prepared")]

    def test_load(self):
        print(f"seed {sluice.SEED}")
        rng = random.Random(sluice.SEED)
        self.sql("CREATE TABLE t (id INT, v INT, ts INT, p INT, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (p) "
                 "WITH ('write-mode' = 'log', 'ordering-field' = 'ts')")
        path = os.path.join(self.dir, "in.ndjson")
        state = {}
        with open(path, "w", encoding="utf-8") as f:
            for i in range(ROWS):
                k, ts, gone = rng.randrange(ROWS // 3), rng.randrange(100), rng.random() < 0.1
                f.write(json.dumps({"id": k, "v": i, "ts": ts, "p": k % 3, "op": "delete" if gone else "upsert"}) + "\n")
                if k not in state or ts >= state[k][0]:
                    state[k] = (ts, None if gone else i)
        kills, most = 0, 0.6
        while True:
            p = sluice.start("ingest", "-w", self.warehouse, "-q", "t", path, "--op-field", "op", "--identity", "k", "--commit-rows", "200",
                             "--writers", "2", stdin=subprocess.DEVNULL)
            try:
                self.assertEqual(p.wait(rng.uniform(0, most) if kills < KILLS else 240), 0)
                break
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
                kills += 1
                most *= 1.2
        want = sorted((k, v) for k, (_, v) in state.items() if v is not None)
        got = [(r["id"], r["v"]) for r in self.rows("SELECT id, v FROM t ORDER BY id")]
        self.assertEqual(got, want, f"{kills} kills, seed {sluice.SEED}")
        self.assertEqual(self.prepared(), [])


if __name__ == "__main__":
    unittest.main()
