"""Writers, a coordinator, one-pass compactions and UPDATEs at once: no writer fails or waits for ever, no row is lost or doubled."""
import json
import os
import signal
import subprocess
import time
import unittest

import sluice

WRITERS, COMMITS, ROWS = (8, 60, 5) if sluice.LONG else (4, 40, 5)


class Race(sluice.Case):
    def start(self, *args, name):
        err = open(os.path.join(self.dir, f"{name}.err"), "wb")
        self.addCleanup(err.close)
        p = sluice.start(*args, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=err)
        p.name = name
        self.addCleanup(lambda: (p.poll() is None and p.kill(), p.wait()))
        return p

    def ended_well(self, p):
        with open(os.path.join(self.dir, f"{p.name}.err"), encoding="utf-8", errors="replace") as f:
            text = f.read()
        self.assertEqual(p.returncode, 0, f"{p.name}: {text}")
        for mark in sluice.SANITIZER_STATUS:
            self.assertNotIn(mark, text)

    def test_all_at_once(self):
        self.sql("CREATE TABLE t (w INT, i INT, n INT, p STRING) PARTITIONED BY (p)")
        watch = self.start("compact", "-w", self.warehouse, "t", "--watch", "--workers", "2", "--interval", "100 ms", name="watch")
        writers = []
        for w in range(WRITERS):
            p = self.start("ingest", "-w", self.warehouse, "t", "-", "--format", "ndjson", "--commit-rows", ROWS, *(["--compact"] if w == 0 else []),
                           name=f"writer{w}")
            p.stdin.write("".join(json.dumps({"w": w, "i": i, "n": 0, "p": "ab"[i % 2]}) + "\n" for i in range(COMMITS * ROWS)).encode())
            p.stdin.close()
            writers.append(p)
        updates = again = 0
        end = time.time() + 120
        while any(p.poll() is None for p in writers):
            self.assertLess(time.time(), end, "the writers do not end")
            self.sql(f"UPDATE t SET n = n + 1 WHERE w = {updates % WRITERS} AND p = 'a'")
            updates += 1
            r = self.ok("compact", "-w", self.warehouse, "t", "--json").json()
            again += r["tasksAgain"]
        for p in writers:
            self.ended_well(p)
        watch.send_signal(signal.SIGTERM)
        watch.stdin.close()
        watch.wait(timeout=60)
        self.ended_well(watch)
        self.ok("compact", "-w", self.warehouse, "t", "--full")
        total = WRITERS * COMMITS * ROWS
        self.assertEqual(self.rows("SELECT count(*) AS n, count(DISTINCT w * 100000 + i) AS d FROM t"), [{"n": total, "d": total}])
        self.assertEqual(len(self.rows("SELECT * FROM t$files")), 2)
        self.ok("verify", "-w", self.warehouse, "t")
        print(f"{updates} updates, {again} tasks planned again", flush=True)


if __name__ == "__main__":
    unittest.main()
