"""Compaction through the program: one pass, in three steps, beside writers, with everything that may change meanwhile."""
import base64
import json
import os
import random
import signal
import subprocess
import time
import unittest

import sluice


class CompactCase(sluice.Case):
    def make(self, name="t", partition="", options=""):
        self.sql(f"CREATE TABLE {name} (id INT, p STRING, v STRING) {partition} {options}")

    def fill(self, commits, rows=3, name="t", start=0, p="x"):
        """So many commits of so many rows each, by one ingest."""
        lines = "".join(json.dumps({"id": start + i, "p": p, "v": f"v{start + i}"}) + "\n" for i in range(commits * rows))
        self.ok("ingest", "-w", self.warehouse, name, "-", "--format", "ndjson", "--commit-rows", rows, stdin=lines)

    def files(self, name="t"):
        return self.rows(f"SELECT * FROM {name}$files")

    def ids(self, name="t"):
        return [r["id"] for r in self.rows(f"SELECT id FROM {name} ORDER BY id")]

    def compact(self, *args, name="t"):
        return self.ok("compact", "-w", self.warehouse, name, "--json", *args).json()

    def snapshot(self, n, name="t"):
        with open(os.path.join(self.warehouse, f"default.db/{name}/snapshot/snapshot-{n}"), encoding="utf-8") as f:
            return json.load(f)

    def latest(self, name="t"):
        folder = os.path.join(self.warehouse, f"default.db/{name}/snapshot")
        return max(int(f.split("-")[1]) for f in os.listdir(folder) if f.startswith("snapshot-"))

    def data_files(self, name="t"):
        found = []
        for where, _, names in os.walk(os.path.join(self.warehouse, f"default.db/{name}")):
            found += [os.path.join(where, n) for n in names if n.endswith(".parquet")]
        return found


class OnePass(CompactCase):
    def test_five_become_one(self):
        self.make()
        self.fill(5)
        r = self.compact()
        self.assertEqual((r["tasksDone"], r["filesIn"], r["filesOut"], r["rowsOut"]), (1, 5, 1, 15))
        self.assertEqual(len(self.files()), 1)
        self.assertEqual(self.ids(), list(range(15)))
        s = self.snapshot(self.latest())
        self.assertEqual((s["commitKind"], s["deltaRecordCount"], s["totalRecordCount"]), ("COMPACT", 0, 15))
        self.ok("verify", "-w", self.warehouse, "t")

    def test_four_wait(self):
        self.make()
        self.fill(4)
        before = self.latest()
        r = self.compact()
        self.assertEqual((r["tasksDone"], r["filesWaiting"]), (0, 4))
        self.assertEqual(self.latest(), before)
        r = self.compact("--full")
        self.assertEqual((r["filesIn"], r["filesOut"]), (4, 1))
        r = self.compact("--full")
        self.assertEqual(r["tasksDone"], 0)
        self.assertEqual(self.ids(), list(range(12)))

    def test_partitions_stay_apart(self):
        self.make(partition="PARTITIONED BY (p)")
        self.fill(5, p="a")
        self.fill(6, p="b", start=100)
        self.fill(2, p="c", start=200)
        r = self.compact("--partition", "p=b", "--workers", "2")
        self.assertEqual((r["filesIn"], r["filesOut"]), (6, 1))
        r = self.compact("--workers", "2")
        self.assertEqual((r["tasksDone"], r["filesIn"], r["filesWaiting"]), (1, 5, 2 + 1))
        self.assertEqual(self.rows("SELECT p, count(*) AS n FROM t GROUP BY p ORDER BY p"),
                         [{"p": "a", "n": 15}, {"p": "b", "n": 18}, {"p": "c", "n": 6}])
        self.ok("verify", "-w", self.warehouse, "t")

    def test_wrong_partition(self):
        self.make(partition="PARTITIONED BY (p)")
        self.fails(3, "compact", "-w", self.warehouse, "t", "--partition", "q=1")
        self.fails(3, "compact", "-w", self.warehouse, "t", "--partition", "p")

    def test_empty_table(self):
        self.make()
        r = self.compact()
        self.assertEqual((r["tasksDone"], r["seen"]), (0, 0))

    def test_schema_change(self):
        self.make()
        self.fill(3)
        self.sql("ALTER TABLE t ADD COLUMN extra INT")
        self.fill(3, start=9)
        self.sql("INSERT INTO t VALUES (100, 'x', 'y', 7)")
        r = self.compact()
        self.assertEqual((r["filesIn"], r["filesOut"]), (7, 1))
        self.assertEqual(self.rows("SELECT count(*) AS n, sum(extra) AS s FROM t"), [{"n": 19, "s": 7}])
        self.ok("verify", "-w", self.warehouse, "t")

    def test_outputs_roll_at_the_target(self):
        self.make(options="WITH ('target-file-size' = '1 mb', 'source.split.open-file-cost' = '1 kb')")
        lines = [json.dumps({"id": i, "p": "x", "v": os.urandom(500).hex()}) + "\n" for i in range(6000)]
        self.ok("ingest", "-w", self.warehouse, "t", "-", "--format", "ndjson", "--commit-rows", 300, stdin="".join(lines))
        r = self.compact("--full", "--workers", "2")
        self.assertGreater(r["filesOut"], 1)
        self.assertEqual(self.ids(), list(range(6000)))
        self.assertLess(max(os.path.getsize(f) for f in self.data_files()), 8 << 20)
        self.ok("verify", "-w", self.warehouse, "t")

    def test_wide_rows_under_little_memory(self):
        """Two threads do not fit then: the write goes on alone on one."""
        self.sql("CREATE TABLE w (id INT, s STRING)")
        rng = random.Random(1)
        lines = "".join('{"id":%d,"s":"%s"}\n' % (i, "".join(rng.choices("abcdefgh", k=8_000_000))) for i in range(12))
        self.ok("ingest", "-w", self.warehouse, "w", "-", "--format", "ndjson", "--memory", "240MB", "--commit-rows", 3,
                "--quiet", stdin=lines)
        sums = "SELECT id, length(s) AS n, md5(s) AS sum FROM w ORDER BY id"
        before = self.rows(sums)
        self.assertEqual(self.compact("--full", "--memory", "240MB", name="w")["filesOut"], 1)
        self.assertEqual(self.rows(sums), before)


class ThreeSteps(CompactCase):
    def steps(self):
        plan = self.ok("compact", "-w", self.warehouse, "t", "--plan", "-").out
        work = self.ok("compact", "--work", stdin=plan).out
        return plan, work

    def test_pipe(self):
        self.make(partition="PARTITIONED BY (p)")
        self.fill(5, p="a")
        self.fill(5, p="b", start=100)
        plan, work = self.steps()
        self.assertEqual(len(plan.splitlines()), 2)
        self.assertEqual(len(self.files()), 10)
        r = self.ok("compact", "-w", self.warehouse, "--apply", "-", "--json", stdin=work).json()
        self.assertEqual((r["tasksDone"], r["snapshots"], r["filesIn"], r["filesOut"]), (2, 1, 10, 2))
        self.assertEqual(len(self.files()), 2)
        # Again, in whole and in part: known, nothing is removed, nothing is published.
        before = self.latest()
        r = self.ok("compact", "--apply", "-", "--json", stdin=work).json()
        self.assertEqual((r["tasksDone"], r["tasksKnown"]), (0, 2))
        r = self.ok("compact", "--apply", "-", "--json", stdin=work.splitlines()[1]).json()
        self.assertEqual((r["tasksDone"], r["tasksKnown"]), (0, 1))
        self.assertEqual(self.latest(), before)
        self.assertEqual(self.ids(), list(range(15)) + list(range(100, 115)))
        self.ok("verify", "-w", self.warehouse, "t")

    def test_task_members(self):
        self.make()
        self.fill(5)
        plan, work = self.steps()
        task = json.loads(plan)
        self.assertEqual((task["sluice"], task["version"], task["snapshot"], len(task["inputs"])), ("compact-task", 1, 5, 5))
        self.assertEqual(task["table"], os.path.join(self.warehouse, "default.db/t"))
        self.assertEqual(base64.b64decode(task["partition"]), bytes(12))
        result = json.loads(work)
        self.assertEqual(result["task"], task)
        self.assertEqual([o["rows"] for o in result["outputs"]], [15])
        self.assertEqual(result["outputs"][0]["source"], 1)

    def test_worked_twice(self):
        """Two workers did the same task: one result is committed, the files of the other go."""
        self.make()
        self.fill(5)
        plan, first = self.steps()
        second = self.ok("compact", "--work", stdin=plan).out
        self.assertEqual(len(self.data_files()), 7)
        r = self.ok("compact", "--apply", "-", "--json", stdin=first + second).json()
        self.assertEqual((r["tasksDone"], r["tasksAgain"]), (1, 1))
        self.assertEqual(len(self.data_files()), 6)
        self.assertEqual(self.ids(), list(range(15)))
        r = self.ok("compact", "--apply", "-", "--json", stdin=second).json()
        self.assertEqual((r["tasksDone"], r["tasksKnown"] + r["tasksAgain"]), (0, 1))
        # A worker that comes after the commit reads the snapshot planned on; its files go when they are applied.
        third = self.ok("compact", "--work", stdin=plan).out
        self.assertEqual(len(self.data_files()), 7)
        r = self.ok("compact", "--apply", "-", "--json", stdin=third).json()
        self.assertEqual((r["tasksDone"], r["tasksKnown"] + r["tasksAgain"]), (0, 1))
        self.assertEqual(len(self.data_files()), 6)
        self.assertEqual(self.ids(), list(range(15)))
        self.ok("verify", "-w", self.warehouse, "t")

    def test_inputs_changed(self):
        """An UPDATE came between: the outputs are dropped, and planned again it works."""
        self.make()
        self.fill(5)
        _, work = self.steps()
        self.sql("UPDATE t SET v = 'new' WHERE id = 3")
        before = len(self.data_files())
        r = self.ok("compact", "--apply", "-", "--json", stdin=work).json()
        self.assertEqual((r["tasksDone"], r["tasksAgain"]), (0, 1))
        self.assertEqual(len(self.data_files()), before - 1)
        self.assertEqual(self.rows("SELECT count(*) AS n FROM t WHERE v = 'new'"), [{"n": 1}])
        self.assertEqual(self.compact()["filesIn"], 5)
        self.assertEqual(self.rows("SELECT count(*) AS n FROM t WHERE v = 'new'"), [{"n": 1}])
        self.ok("verify", "-w", self.warehouse, "t")

    def test_appends_do_not_conflict(self):
        self.make()
        self.fill(5)
        _, work = self.steps()
        self.fill(2, start=15)
        r = self.ok("compact", "--apply", "-", "--json", stdin=work).json()
        self.assertEqual(r["tasksDone"], 1)
        self.assertEqual(self.ids(), list(range(21)))

    def test_output_is_gone(self):
        self.make()
        self.fill(5)
        _, work = self.steps()
        name = json.loads(work)["outputs"][0]["file"]
        os.remove(next(f for f in self.data_files() if f.endswith(name)))
        r = self.fails(1, "compact", "--apply", "-", "--json", stdin=work)
        self.assertIn("output file is missing", r.err)
        self.assertEqual(self.ids(), list(range(15)))

    def test_a_line_that_names_a_live_file(self):
        """A damaged or forged result never costs a file that a snapshot names."""
        self.make()
        self.fill(6)
        _, work = self.steps()
        result = json.loads(work)
        result["outputs"][0]["file"] = result["task"]["inputs"][0]["file"]
        result["outputs"][0]["extraFiles"] = ["x"]
        del result["task"]["inputs"][0]
        result["outputs"][0]["rows"] = 15
        self.sql("UPDATE t SET v = 'new' WHERE id = 15")
        sluice.run("compact", "--apply", "-", "--json", stdin=json.dumps(result))
        self.assertEqual(self.ids(), list(range(18)))
        self.ok("verify", "-w", self.warehouse, "t")

    def test_lines_that_do_not_fit_the_table(self):
        self.make()
        self.fill(5)
        _, work = self.steps()

        def broken(change):
            result = json.loads(work)
            change(result)
            r = sluice.run("compact", "--apply", "-", stdin=json.dumps(result) + "\n")
            self.assertEqual(r.status, 7, r)
            self.assertIn("line 1", r.err)
            self.assertEqual(self.ids(), list(range(15)))
            return json.dumps(result) + "\n"

        broken(lambda r: r["outputs"][0].update(schema=7))
        broken(lambda r: r["outputs"][0]["stats"]["nulls"].append(0))
        twice = broken(lambda r: r["task"]["inputs"].append(r["task"]["inputs"][0]))
        before = self.latest()
        r = sluice.run("compact", "--apply", "-", stdin=twice + work)
        self.assertEqual(r.status, 7, r)
        self.assertNotEqual(self.latest(), before)
        self.assertEqual(self.ids(), list(range(15)))
        self.ok("verify", "-w", self.warehouse, "t")

    def test_table_is_gone(self):
        self.make()
        self.fill(5)
        plan, work = self.steps()
        self.sql("DROP TABLE t")
        result = self.ok("compact", "--work", stdin=plan).out
        self.assertIn("error", json.loads(result))
        self.assertNotEqual(sluice.run("compact", "--apply", "-", stdin=work).status, 0)
        self.assertNotEqual(sluice.run("compact", "--apply", "-", stdin=result).status, 0)

    def test_table_made_anew(self):
        self.make()
        self.fill(5)
        _, work = self.steps()
        self.sql("DROP TABLE t")
        self.make()
        self.fill(5)
        r = sluice.run("compact", "--apply", "-", "--json", stdin=work)
        self.assertEqual(self.ids(), list(range(15)), r)

    def test_bad_lines(self):
        for line in ("{}", "x", '{"sluice":"compact-task","version":9}'):
            r = sluice.run("compact", "--work", stdin=line + "\n")
            self.assertIn(r.status, (7, 8), r)
            self.assertIn("line 1", r.err)
            self.assertIn(sluice.run("compact", "--apply", "-", stdin=line + "\n").status, (7, 8))

    def test_usage(self):
        self.fails(2, "compact", "-w", self.warehouse)
        self.fails(2, "compact", "-w", self.warehouse, "t", "--watch", "--plan", "-")
        self.fails(2, "compact", "-w", self.warehouse, "t", "--interval", "1")
        self.fails(4, "compact", "-w", self.warehouse, "nothing")

    def test_plan_to_file(self):
        self.make()
        self.fill(5)
        path = os.path.join(self.dir, "tasks")
        self.ok("compact", "-w", self.warehouse, "t", "--plan", path)
        with open(path, encoding="utf-8") as f:
            work = self.ok("compact", "--work", stdin=f.read()).out
        results = os.path.join(self.dir, "results")
        with open(results, "w", encoding="utf-8") as f:
            f.write(work)
        self.ok("compact", "--apply", results)
        self.assertEqual(len(self.files()), 1)


class Watch(CompactCase):
    def start_watch(self, *args):
        self.log = open(os.path.join(self.dir, "watch.err"), "ab")
        self.addCleanup(self.log.close)
        p = sluice.start("compact", "-w", self.warehouse, "t", "--watch", "--interval", "100 ms", "--workers", "2", "--json", *args,
                         stdout=subprocess.PIPE, stderr=self.log)
        self.addCleanup(lambda: (p.poll() is None and p.kill(), p.wait(), p.stdout.close()))
        return p

    def stop(self, p):
        p.send_signal(signal.SIGTERM)
        out, _ = p.communicate(timeout=30)
        with open(self.log.name, encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(p.returncode, 0, text)
        for mark in sluice.SANITIZER_STATUS:
            self.assertNotIn(mark, text)
        return json.loads(out)

    def wait_for(self, what, seconds=40):
        end = time.time() + seconds
        while not what():
            self.assertLess(time.time(), end, "it did not come")
            time.sleep(0.1)

    def test_follows_writers(self):
        self.make(partition="PARTITIONED BY (p)")
        watch = self.start_watch()
        time.sleep(0.5)
        for i in range(3):
            self.fill(6, p="a", start=i * 1000)
            self.fill(6, p="b", start=i * 1000 + 500)
        self.wait_for(lambda: len(self.files()) <= 8)
        r = self.stop(watch)
        self.assertGreater(r["tasksDone"], 0)
        self.assertEqual(r["tasksFailed"], 0)
        self.assertEqual(len(self.ids()), 3 * 36)
        self.assertEqual(len(set(self.ids())), 3 * 36)
        self.ok("verify", "-w", self.warehouse, "t")

    def test_ageing(self):
        self.make()
        self.fill(2)
        watch = self.start_watch()
        self.wait_for(lambda: len(self.files()) == 1)
        self.stop(watch)

    def test_one_at_a_time(self):
        self.make()
        watch = self.start_watch()
        time.sleep(1)
        r = self.fails(12, "compact", "-w", self.warehouse, "t", "--watch")
        self.assertIn("watched by another coordinator", r.err)
        self.stop(watch)

    def test_goes_on_from_what_was_seen(self):
        self.make()
        self.fill(5)
        watch = self.start_watch()
        self.wait_for(lambda: len(self.files()) == 1)
        self.stop(watch)
        s = self.snapshot(self.latest())
        self.assertEqual(s["properties"]["sluice.compact.snapshot"], "5")
        self.assertEqual(s["properties"]["sluice.compact.waiting"], "0")
        self.fill(5, start=100)
        r = self.ok("compact", "-w", self.warehouse, "t", "--watch", "--rounds", "1", "--interval", "100 ms", "--json").json()
        self.assertEqual((r["fullScans"], r["tasksDone"]), (0, 1))
        self.assertEqual(len(self.ids()), 30)

    def test_rollback_is_noticed(self):
        self.make()
        self.fill(6)
        watch = self.start_watch("--no-expire")
        self.wait_for(lambda: len(self.files()) == 1)
        self.ok("rollback", "-w", self.warehouse, "t", "--snapshot", "2")
        self.fill(5, start=100)
        self.wait_for(lambda: len(self.files()) == 1)
        r = self.stop(watch)
        self.assertGreaterEqual(r["fullScans"], 2)
        self.assertEqual(self.ids(), list(range(6)) + list(range(100, 115)))

    def test_schema_change_is_followed(self):
        self.make()
        watch = self.start_watch()
        self.fill(5)
        self.wait_for(lambda: len(self.files()) == 1)
        self.sql("ALTER TABLE t ADD COLUMN extra INT")
        for i in range(5):
            self.sql(f"INSERT INTO t VALUES ({100 + i}, 'x', 'y', {i})")
        self.wait_for(lambda: len(self.files()) <= 2)
        self.stop(watch)
        self.assertEqual(self.rows("SELECT count(*) AS n, sum(extra) AS s FROM t"), [{"n": 20, "s": 10}])

    def test_expires(self):
        self.make(options="WITH ('snapshot.num-retained.min' = '1', 'snapshot.num-retained.max' = '3', 'snapshot.time-retained' = '1 ms')")
        self.fill(12)
        watch = self.start_watch()
        self.wait_for(lambda: len(os.listdir(os.path.join(self.warehouse, "default.db/t/snapshot"))) < 10)
        r = self.stop(watch)
        self.assertGreater(r["snapshotsExpired"], 0)
        self.assertEqual(len(self.ids()), 36)
        self.ok("verify", "-w", self.warehouse, "t")


class BesideIngest(CompactCase):
    def test_ingest_compacts(self):
        self.make()
        lines = "".join(json.dumps({"id": i, "p": "x", "v": "y"}) + "\n" for i in range(60))
        self.ok("ingest", "-w", self.warehouse, "t", "-", "--format", "ndjson", "--commit-rows", 3, "--compact", stdin=lines)
        self.assertLess(len(self.files()), 10)
        self.assertEqual(self.ids(), list(range(60)))
        kinds = [self.snapshot(i)["commitKind"] for i in range(1, self.latest() + 1)]
        self.assertIn("COMPACT", kinds)
        self.ok("verify", "-w", self.warehouse, "t")


if __name__ == "__main__":
    unittest.main()
