"""Upkeep with the n-th allocation or store operation failing: an error, never a damaged table or lost rows."""
import os
import random
import shutil
import unittest

import sluice
from sluice import Case

COMMANDS = [("verify", "--deep", "t"), ("inspect", "--files", "--manifests", "t"),
            ("expire", "--retain-last", "1", "--older-than", "0s", "t"), ("clean", "t"),
            ("rollback", "--snapshot", "4", "t"), ("tag", "t", "delete", "x")]
ROWS_AFTER_ROLLBACK = 3


class Faults(Case):
    def setUp(self):
        super().setUp()
        self.sql("CREATE TABLE t (k INT, p STRING) PARTITIONED BY (p); INSERT INTO t VALUES (1, 'a'), (2, 'b');"
                 "INSERT INTO t VALUES (3, 'a'); DELETE FROM t WHERE k = 1; INSERT INTO t VALUES (4, 'c');"
                 "DELETE FROM t WHERE p = 'b'")
        self.ok("tag", "-w", self.warehouse, "t", "create", "x", "--snapshot", "2")
        lost = os.path.join(self.warehouse, "default.db/t/p=a/bucket-0/data-lost.parquet")
        with open(lost, "w", encoding="ascii") as f:
            f.write("x")
        os.utime(lost, (1, 1))
        self.base = os.path.join(self.dir, "base")
        shutil.copytree(self.warehouse, self.base)

    def one(self, command, variable, n):
        shutil.rmtree(self.warehouse)
        shutil.copytree(self.base, self.warehouse)
        r = sluice.run(command[0], "-w", self.warehouse, *command[1:], env={variable: str(n)})
        # A file that cannot be read is a finding of verify.
        self.assertIn(r.status, (0, 9, 11, 13) if command[0] == "verify" else (0, 9, 11), (variable, n, r))
        v = sluice.run("verify", "-w", self.warehouse, "t")
        self.assertEqual(v.status, 0, (variable, n, r, v))
        rows = self.rows("SELECT count(*) AS n FROM t")[0]["n"]
        allowed = (2, ROWS_AFTER_ROLLBACK) if command[0] == "rollback" else (2,)
        self.assertIn(rows, allowed, (variable, n, r))
        if command[0] == "rollback" and r.status == 0:
            self.assertEqual(rows, ROWS_AFTER_ROLLBACK)

    def test_faults(self):
        choose = random.Random(sluice.SEED)
        for _ in range(200 if sluice.LONG else 24):
            variable, most = choose.choice([("SLUICE_FAIL_ALLOC", 2500), ("SLUICE_FAIL_STORE", 220)])
            self.one(choose.choice(COMMANDS), variable, choose.randrange(1, most))


if __name__ == "__main__":
    unittest.main()
