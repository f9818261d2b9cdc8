"""Compaction and cleaning of log tables through the program: one pass, in three steps, at every step that can die, beside writers and readers."""
import json
import os
import re
import signal
import subprocess
import unittest

import sluice

NAME = re.compile(r"^(\.?)([0-9a-f-]+-\d+)_(?:[\d-]+_)?(\d{17})\.(?:parquet|log\.(\d+)_[\d-]+)$")


class LogCase(sluice.Case):
    """A log table `t` and what it should hold: self.want, from id to (p, v)."""

    def make(self, options="", partitioned=True):
        self.want = {}
        by = "PARTITIONED BY (p)" if partitioned else ""
        self.sql(f"CREATE TABLE t (id STRING, p STRING, v BIGINT, u BIGINT, PRIMARY KEY (id) NOT ENFORCED) {by} "
                 f"WITH ('write-mode' = 'log', 'ordering-field' = 'u'{options})")
        self.table = os.path.join(self.warehouse, "default.db/t")
        self.clock = 0

    def put(self, first, n, **kw):
        """One commit of rows with the keys k<first>.., each newer than all before."""
        self.clock += 1
        for i in range(first, first + n):
            self.want[f"k{i}"] = (f"p{i % 3}", i * self.clock)
        return self.sql(f"INSERT INTO t SELECT 'k' || i, 'p' || (i % 3), i * {self.clock}, {self.clock} FROM range({first}, {first + n}) r(i)", **kw)

    def drop(self, key):
        self.sql(f"DELETE FROM t WHERE id = '{key}'")
        self.want.pop(key, None)

    def fill(self, commits=6, rows=60):
        for i in range(commits):
            self.put(i * 10, rows)

    def check(self):
        got = {r["id"]: (r["p"], r["v"]) for r in self.rows("SELECT id, p, v FROM t")}
        self.assertEqual(got, self.want)
        self.assertEqual(self.rows("SELECT count(*) AS n FROM t"), [{"n": len(self.want)}])

    def compact(self, *args, **kw):
        return self.ok("compact", "-w", self.warehouse, "t", "--json", *args, **kw).json()

    def expire(self, *args, **kw):
        return self.ok("expire", "-w", self.warehouse, "t", "--json", *args, **kw).json()

    def files(self):
        """(bases, logs): relative paths."""
        bases, logs = [], []
        for where, dirs, names in os.walk(self.table):
            dirs[:] = [d for d in dirs if d != ".hoodie"]
            for n in names:
                m = NAME.match(n)
                if m:
                    (logs if m.group(1) else bases).append(os.path.relpath(os.path.join(where, n), self.table))
        return sorted(bases), sorted(logs)

    def timeline(self, ending):
        return sorted(n for n in os.listdir(os.path.join(self.table, ".hoodie")) if n.endswith("." + ending))

    def commit(self, name):
        with open(os.path.join(self.table, ".hoodie", name), encoding="utf-8") as f:
            return json.load(f)

    def leases(self):
        return [n for n in os.listdir(os.path.join(self.table, ".hoodie/.sluice")) if n.startswith("reader-")]

    def staged(self):
        folder = os.path.join(self.table, ".hoodie/.sluice/stage")
        return os.listdir(folder) if os.path.isdir(folder) else []


class OnePass(LogCase):
    def test_logs_become_base_files(self):
        self.make()
        self.fill()
        self.drop("k30")
        bases, logs = self.files()
        self.assertEqual(len(bases), 3)
        r = self.compact("--workers", "2")
        self.assertEqual((r["tasksPlanned"], r["tasksDone"], r["filesOut"], r["rowsOut"], r["rowsDeleted"], r["filesWaiting"]),
                         (3, 3, 3, len(self.want), 1, 0))
        self.assertEqual(r["filesIn"], len(bases) + len(logs))
        self.check()
        self.assertEqual(len(self.files()[0]), 6)
        self.assertEqual(self.staged(), [])
        done = self.timeline("commit")
        self.assertEqual(done, [f"{r['snapshot']}.commit"])
        c = self.commit(done[0])
        self.assertEqual((c["operationType"], c["compacted"]), ("COMPACT", True))
        stats = [s for part in c["partitionToWriteStats"].values() for s in part]
        self.assertEqual(len(stats), 3)
        self.assertEqual(sum(s["numWrites"] for s in stats), len(self.want))
        self.assertEqual(sum(s["numDeletes"] for s in stats), 1)
        self.assertGreater(sum(s["totalLogFilesCompacted"] for s in stats), 10)
        self.assertIn("schema", c["extraMetadata"])
        self.assertNotIn("_hoodie_commit_time", c["extraMetadata"]["schema"])

    def test_rows_keep_their_commit(self):
        self.make()
        self.fill()
        query = "SELECT id, _hoodie_commit_time AS t, _hoodie_commit_seqno AS s, _hoodie_partition_path AS p FROM t ORDER BY id"
        before = self.rows(query)
        self.compact()
        self.assertEqual(self.rows(query), before)
        names = {r["n"] for r in self.rows("SELECT DISTINCT _hoodie_file_name AS n FROM t")}
        self.assertEqual(names, {os.path.basename(b) for b in self.files()[0]} & names)
        self.assertTrue(all(n.endswith(f"{self.timeline('commit')[0][:17]}.parquet") for n in names), names)

    def test_new_base_files_have_an_index(self):
        self.make(partitioned=False)
        self.fill()
        self.compact()
        base = [b for b in self.files()[0] if self.timeline("commit")[0][:17] in b][0]
        path = os.path.join(self.table, base)
        kv = {r["k"]: r["v"] for r in self.rows(
            f"SELECT decode(key) AS k, decode(value) AS v FROM parquet_kv_metadata('{path}')")}
        self.assertEqual(kv["hoodie_min_record_key"], min(self.want))
        self.assertEqual(kv["hoodie_max_record_key"], max(self.want))
        self.assertIn("org.apache.hudi.bloomfilter", kv)
        # And what was there is updated, not doubled.
        self.put(0, 60)
        self.check()

    def test_too_few_commits_wait(self):
        self.make()
        self.fill(4)
        r = self.compact()
        self.assertEqual((r["tasksPlanned"], r["filesWaiting"]), (0, 3))
        r = self.compact("--all-logs")
        self.assertEqual((r["tasksDone"], r["filesWaiting"]), (3, 0))
        r = self.compact("--all-logs")
        self.assertEqual(r["tasksPlanned"], 0)
        self.check()

    def test_strategies(self):
        for options, due in ((", 'hoodie.compact.inline.max.delta.commits' = '2'", True),
                             (", 'hoodie.compact.inline.trigger.strategy' = 'TIME_ELAPSED'", False),
                             (", 'hoodie.compact.inline.trigger.strategy' = 'TIME_ELAPSED', 'hoodie.compact.inline.max.delta.seconds' = '0'", True),
                             (", 'hoodie.compact.inline.trigger.strategy' = 'NUM_AND_TIME', 'hoodie.compact.inline.max.delta.commits' = '1'", False),
                             (", 'hoodie.compact.inline.trigger.strategy' = 'NUM_OR_TIME', 'hoodie.compact.inline.max.delta.commits' = '1'", True),
                             (", 'hoodie.compact.inline.max.delta.commits' = '1', 'hoodie.compaction.logfile.size.threshold' = '100000000'", False)):
            with self.subTest(options):
                self.sql("DROP TABLE IF EXISTS t")
                self.make(options)
                self.fill(2)
                self.assertEqual(self.compact()["tasksDone"] > 0, due)
                self.check()
        self.sql("DROP TABLE t")
        self.make(", 'hoodie.compaction.strategy' = 'com.example.MyStrategy'")
        self.fill(2)
        self.assertIn("MyStrategy", self.fails(8, "compact", "-w", self.warehouse, "t").err)

    def test_one_partition(self):
        self.make()
        self.fill()
        r = self.compact("--partition", "p=p1")
        self.assertEqual((r["tasksDone"], r["filesWaiting"]), (1, 0))
        self.assertEqual(len(self.files()[0]), 4)
        self.check()
        self.fails(3, "compact", "-w", self.warehouse, "t", "--partition", "q=1")

    def test_all_rows_deleted(self):
        self.make(partitioned=False)
        self.put(0, 5)
        for i in range(5):
            self.drop(f"k{i}")
        r = self.compact("--all-logs")
        self.assertEqual((r["tasksDone"], r["rowsOut"], r["rowsDeleted"]), (1, 0, 5))
        self.check()
        self.put(3, 4)
        self.check()
        self.compact("--all-logs")
        self.check()

    def test_groups_that_began_with_a_log(self):
        self.make(", 'sluice.insert.to.log' = 'always'")
        self.fill()
        self.check()
        self.assertEqual(self.files()[0], [])
        r = self.compact()
        self.assertEqual(r["tasksDone"], 3)
        self.check()
        self.assertEqual(len(self.files()[0]), 3)

    def test_parquet_blocks_and_damage(self):
        self.make(", 'hoodie.logfile.data.block.format' = 'parquet'")
        self.fill()
        self.drop("k31")
        self.compact()
        self.check()

    def test_empty_table(self):
        self.make()
        r = self.compact("--all-logs")
        self.assertEqual((r["tasksPlanned"], r["seen"]), (0, 0))
        self.fails(4, "compact", "-w", self.warehouse, "nothing")


class ThreeSteps(LogCase):
    def plan(self):
        r = self.ok("compact", "-w", self.warehouse, "t", "--plan", "-", "--all-logs")
        return [line for line in r.out.splitlines() if line]

    def work(self, tasks):
        return [line for line in self.ok("compact", "--work", stdin="\n".join(tasks) + "\n").out.splitlines() if line]

    def apply(self, results, status=0):
        r = sluice.run("compact", "--json", "--apply", "-", stdin="\n".join(results) + "\n")
        self.assertEqual(r.status, status, r)
        return json.loads(r.out.splitlines()[0])

    def test_apart(self):
        self.make()
        self.fill()
        tasks = self.plan()
        self.assertEqual(len(tasks), 3)
        self.assertEqual(len(self.timeline("compaction.requested")), 1)
        task = json.loads(tasks[0])
        self.assertEqual((task["sluice"], task["version"]), ("compact-task", 1))
        self.assertEqual(self.plan(), tasks)  # it is pending: the same again, no second plan
        self.check()
        results = self.work(tasks)
        self.check()
        twice = self.work(tasks)
        self.assertEqual(len(self.files()[0]), 3)  # nothing has a name yet
        r = self.apply(results[:2])
        self.assertEqual((r["tasksDone"], r["tasksAgain"]), (0, 2))
        r = self.apply(results + twice)
        self.assertEqual(r["tasksDone"], 3)
        self.check()
        r = self.apply(results)
        self.assertEqual((r["tasksDone"], r["tasksKnown"]), (0, 3))
        self.assertEqual((self.staged(), len(self.files()[0])), ([], 6))
        self.check()

    def test_refused_lines(self):
        self.make()
        self.fill()
        tasks = self.plan()
        result = json.loads(self.work(tasks)[0])
        for member, value in (("staged", "../../hoodie.properties"), ("staged", "compact-20200101000000000-x-0.parquet"), ("size", -1.5)):
            bad = json.loads(json.dumps(result))
            bad["output"][member] = value
            self.fails(7, "compact", "--apply", "-", stdin=json.dumps(bad) + "\n")
        bad = json.loads(tasks[0])
        bad["version"] = 9
        self.assertNotEqual(sluice.run("compact", "--work", stdin=json.dumps(bad) + "\n").status, 0)
        self.check()

    def test_an_input_is_gone(self):
        self.make()
        self.fill()
        tasks = self.plan()
        os.remove(os.path.join(self.table, self.files()[1][0]))
        results = self.work(tasks)
        self.assertEqual(sum("error" in json.loads(r) for r in results), 1)
        r = self.apply(results, status=1)
        self.assertEqual((r["tasksDone"], r["tasksFailed"]), (0, 1))


class Beside(LogCase):
    def test_writers_go_on_while_a_plan_is_pending(self):
        self.make()
        self.fill()
        self.ok("compact", "-w", self.warehouse, "t", "--plan", os.path.join(self.dir, "tasks"), "--all-logs")
        pending = self.timeline("compaction.requested")[0][:17]
        self.put(5, 30)
        self.drop("k40")
        self.check()
        self.assertTrue(any(f"_{pending}.log." in n for n in self.files()[1]))
        r = self.compact()
        self.assertEqual(r["snapshot"], int(pending))
        self.check()
        self.put(0, 20)
        self.check()
        self.compact("--all-logs")
        self.check()

    def test_no_plan_while_a_commit_of_others_is_pending(self):
        self.make()
        self.fill()
        with open(os.path.join(self.table, ".hoodie", "29990101000000000.deltacommit.requested"), "w", encoding="utf-8"):
            pass
        r = self.compact("--all-logs")
        self.assertEqual((r["tasksPlanned"], r["filesWaiting"]), (0, 3))
        self.assertEqual(self.timeline("compaction.requested"), [])

    def test_checkpoint_is_carried_forward(self):
        self.make()
        lines = "".join(json.dumps({"id": f"k{i}", "p": f"p{i % 3}", "v": i, "u": 1}) + "\n" for i in range(40))
        source = os.path.join(self.dir, "rows.ndjson")
        with open(source, "w", encoding="utf-8") as f:
            f.write(lines)
        self.want = {f"k{i}": (f"p{i % 3}", i) for i in range(40)}
        self.ok("ingest", "-w", self.warehouse, "t", source, "--commit-rows", 10, "--identity", "me")
        self.put(0, 40)
        newest = self.commit(self.timeline("deltacommit")[-1])["extraMetadata"]
        r = self.compact("--all-logs")
        carried = self.commit(f"{r['snapshot']}.commit")["extraMetadata"]
        mine = {k: v for k, v in newest.items() if k.startswith("sluice.") and k != "sluice.writer"}
        self.assertTrue(mine)
        self.assertEqual({k: v for k, v in carried.items() if k in mine}, mine)
        self.ok("ingest", "-w", self.warehouse, "t", source, "--commit-rows", 10, "--identity", "me")
        self.check()

    def test_one_watch(self):
        self.make()
        self.fill()
        self.compact("--watch", "--rounds", "2", "--interval", "10 ms", "--workers", "2")
        self.check()
        self.assertEqual(len(self.timeline("commit")), 1)


class Clean(LogCase):
    def grow(self, compactions):
        for i in range(compactions):
            self.put(i, 30)
            self.put(i, 40)
            self.compact("--all-logs")

    def test_by_commits(self):
        self.make(", 'hoodie.clean.commits.retained' = '3'")
        self.grow(3)
        before = self.files()
        dry = self.expire("--dry-run")
        self.assertGreater(dry["dataFiles"], 0)
        self.assertEqual(self.files(), before)
        r = self.expire()
        self.assertEqual(r["dataFiles"], dry["dataFiles"])
        self.assertEqual(len(before[0]) + len(before[1]) - len(self.files()[0]) - len(self.files()[1]), r["dataFiles"])
        self.assertEqual((len(self.timeline("clean")), len(self.timeline("clean.requested")), len(self.timeline("clean.inflight"))), (1, 1, 1))
        self.check()
        self.assertEqual(self.rows(f"SELECT count(*) AS n FROM t FOR VERSION AS OF {r['earliest']}")[0]["n"] > 0, True)
        bad = self.fails(4, "sql", "-w", self.warehouse, "-e", f"SELECT count(*) FROM t FOR VERSION AS OF {r['earliestBefore']}")
        self.assertIn("cleaned", bad.err)
        self.assertEqual(self.expire()["dataFiles"], 0)

    def test_by_versions_and_hours(self):
        self.make(", 'hoodie.clean.policy' = 'KEEP_LATEST_FILE_VERSIONS', 'hoodie.clean.fileversions.retained' = '2'")
        self.grow(3)
        self.expire()
        self.assertEqual(len(self.files()[0]), 6)
        self.check()
        self.assertEqual(self.expire("--older-than", "1h")["dataFiles"], 0)
        self.expire("--older-than", "0s")
        self.assertEqual((len(self.files()[0]), self.files()[1]), (3, []))
        self.check()
        self.fails(3, "expire", "-w", self.warehouse, "t", "--limit", "3")

    def test_pending_compactions_and_savepoints(self):
        self.make()
        self.grow(2)
        self.put(0, 50)
        self.ok("compact", "-w", self.warehouse, "t", "--plan", os.path.join(self.dir, "tasks"), "--all-logs")
        self.expire("--retain-last", "1")
        self.check()
        self.compact()
        self.check()
        self.expire("--retain-last", "1")
        self.assertEqual((len(self.files()[0]), self.files()[1]), (3, []))
        self.check()

    def test_a_reader_keeps_its_files(self):
        self.make()
        self.fill()
        # It stops when it has planned, and reads when all is compacted and cleaned.
        reader = sluice.start("sql", "-w", self.warehouse, "--format", "ndjson", "-e", "SELECT count(*) AS n, sum(v) AS s FROM t",
                              env={"SLUICE_FAILPOINT": "log.planned=stop"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        sluice.wait_stopped(reader)
        n, s = len(self.want), sum(v for _, v in self.want.values())
        self.compact()
        self.put(0, 10)
        r = self.expire("--retain-last", "1")
        self.assertEqual((r["dataFiles"], len(self.files()[0])), (0, 6))
        self.assertIn("heldBy", r)
        reader.send_signal(signal.SIGCONT)
        out, err = reader.communicate(timeout=60)
        self.assertEqual(json.loads(out), {"n": n, "s": s}, err)
        self.assertGreater(self.expire("--retain-last", "1")["dataFiles"], 0)
        self.assertEqual(self.leases(), [])
        self.check()

    def test_dead_readers(self):
        self.make()
        self.fill()
        lease = os.path.join(self.table, ".hoodie/.sluice/reader-left-behind")
        with open(lease, "w", encoding="utf-8") as f:
            f.write("20000101000000000")
        self.compact()
        self.assertEqual(self.expire("--retain-last", "1")["dataFiles"], 0)
        os.utime(lease, (1, 1))
        r = self.expire("--retain-last", "1")
        self.assertEqual(r["deadConsumers"], 1)
        self.assertGreater(r["dataFiles"], 0)
        self.assertEqual(self.leases(), [])
        self.check()


class Steps(LogCase):
    """The process ends at every step that has a name; the next one finishes or takes back."""

    def stop_at(self, point, *args):
        r = sluice.run(args[0], "-w", self.warehouse, "t", *args[1:], env={"SLUICE_FAILPOINT": f"{point}=exit"})
        self.assertNotEqual(r.status, 0, (point, r))

    def test_compaction(self):
        self.make()
        for point in ("compact.before_plan", "compact.planned", "compact.worked", "compact.worked:2", "compact.inflight", "compact.marked", "compact.named",
                      "compact.named:2", "compact.prepared", "compact.before_rename", "compact.completed"):
            with self.subTest(point):
                self.put(0, 40)
                self.put(20, 40)
                self.stop_at(point, "compact", "--all-logs")
                self.check()
                self.put(30, 20)
                self.check()
                self.compact("--all-logs")
                self.check()
                self.assertEqual(self.staged(), [])
                self.assertEqual(self.compact("--all-logs")["filesWaiting"], 0)
        bases = [NAME.match(os.path.basename(b)).group(2, 3) for b in self.files()[0]]
        self.assertEqual(len(bases), len(set(bases)))
        # Each plan became one commit.
        self.assertEqual([n[:17] for n in self.timeline("commit")], [n[:17] for n in self.timeline("compaction.requested")])
        self.assertEqual(os.listdir(os.path.join(self.table, ".hoodie/.temp")), [])

    def test_clean(self):
        self.make()
        for point in ("clean.planned", "clean.removing", "clean.removed"):
            self.put(0, 40)
            self.put(5, 40)
            self.compact("--all-logs")
            self.stop_at(point, "expire", "--retain-last", "1")
            self.check()
            self.expire("--retain-last", "1")
            self.check()
            self.assertEqual(len(self.timeline("clean")), len(self.timeline("clean.requested")))
            self.assertEqual(len(self.files()[0]), 3)

    def test_a_frozen_compactor_publishes_nothing(self):
        """It holds the lock when it freezes; the lock is taken away by force, and the plan run by another."""
        self.make()
        self.fill()
        frozen = sluice.start("compact", "-w", self.warehouse, "t", "--all-logs", env={"SLUICE_FAILPOINT": "compact.before_rename=stop"},
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        sluice.wait_stopped(frozen)
        for path in (".hoodie/.sluice/lock", ".hoodie/lock"):
            os.remove(os.path.join(self.table, path))
        self.compact("--all-logs")
        frozen.send_signal(signal.SIGCONT)
        _, err = frozen.communicate(timeout=60)
        self.assertNotEqual(frozen.returncode, 0, err)
        self.assertIn(b"taken over", err)
        self.check()
        self.put(0, 30)
        self.check()


if __name__ == "__main__":
    unittest.main()
