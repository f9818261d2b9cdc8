"""expire, clean, rollback and tag through the program."""
import glob
import json
import os
import signal
import subprocess
import time
import unittest

import sluice
from sluice import Case

DAY = 86400


class Upkeep(Case):
    """A table t (k INT, v STRING) partitioned by p, and helpers to grow and look at it."""

    def setUp(self):
        super().setUp()
        self.sql("CREATE TABLE t (k INT, v STRING, p STRING) PARTITIONED BY (p)")
        self.table = os.path.join(self.warehouse, "default.db/t")

    def up(self, command, *args, **kw):
        return self.ok(command, "-w", self.warehouse, *args, **kw)

    def insert(self, first, n=3, p="a"):
        self.sql("INSERT INTO t VALUES " + ", ".join(f"({first + i}, 'v{first + i}', '{p}')" for i in range(n)))

    def keys(self, suffix=""):
        return [r["k"] for r in self.rows(f"SELECT k FROM t {suffix} ORDER BY k")]

    def files(self, pattern="**/*"):
        return sorted(os.path.relpath(f, self.table) for f in glob.glob(os.path.join(self.table, pattern), recursive=True)
                      if os.path.isfile(f))

    def snapshots(self):
        return sorted(int(f.rsplit("-", 1)[1]) for f in self.files("snapshot/snapshot-*"))

    def data(self):
        return self.files("**/*.parquet")

    def age(self, path, seconds):
        path = os.path.join(self.table, path)
        t = time.time() - seconds
        os.utime(path, (t, t))

    def write(self, path, content=b"x"):
        full = os.path.join(self.table, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as f:
            f.write(content)

    def sound(self):
        r = self.up("verify", "--deep", "t")
        self.assertIn("The table is sound", r.out)


class Expire(Upkeep):
    def test_keeps_what_the_options_say(self):
        for i in range(6):
            self.insert(i * 10)
        self.up("expire", "t")
        self.assertEqual(self.snapshots(), [1, 2, 3, 4, 5, 6])
        self.assertIn("EARLIEST", os.listdir(os.path.join(self.table, "snapshot")))
        self.up("expire", "--retain-last", "4", "t")
        self.assertEqual(self.snapshots(), [1, 2, 3, 4, 5, 6], "none is an hour old")
        r = self.up("expire", "--retain-last", "4", "--older-than", "0s", "--limit", "1", "--json", "t").json()
        self.assertEqual(r["snapshots"], 1)
        self.assertEqual(self.snapshots(), [2, 3, 4, 5, 6])
        self.up("expire", "--retain-max", "3", "--retain-last", "1", "t")
        self.assertEqual(self.snapshots(), [4, 5, 6])
        self.assertEqual(len(self.keys()), 18)
        with open(os.path.join(self.table, "snapshot/EARLIEST"), encoding="ascii") as f:
            self.assertEqual(f.read(), "4")
        self.sound()

    def test_removes_deleted_files_only(self):
        self.insert(0)
        self.insert(10, p="b")
        self.sql("DELETE FROM t WHERE p = 'b'")
        self.insert(20)
        before = self.data()
        r = self.up("expire", "--retain-last", "1", "--older-than", "0s", "--dry-run", "--list", "t")
        self.assertIn("would remove", r.out)
        self.assertEqual(self.data(), before)
        self.up("expire", "--retain-last", "1", "--older-than", "0s", "t")
        self.assertEqual(self.snapshots(), [4])
        self.assertEqual(self.keys(), [0, 1, 2, 20, 21, 22])
        self.assertEqual(len(self.data()), 2)
        self.assertFalse([f for f in self.data() if f.startswith("p=b/")])
        self.sound()
        r = self.up("clean", "--older-than", "0s", "--force", "--json", "t").json()
        self.assertEqual(r["count"], 0, "expiry leaves no orphans")

    def test_tag_keeps_files(self):
        self.insert(0)
        self.up("tag", "t", "create", "first")
        self.sql("TRUNCATE TABLE t")
        self.insert(10)
        self.up("expire", "--retain-last", "1", "--older-than", "0s", "t")
        self.assertEqual(self.snapshots(), [3])
        self.assertEqual(self.keys("FOR VERSION AS OF 'first'"), [0, 1, 2])
        self.sound()
        self.up("tag", "t", "delete", "first")
        self.assertEqual(len(self.data()), 1)
        self.assertEqual(self.up("clean", "--older-than", "0s", "--force", "--json", "t").json()["count"], 0)
        self.sound()

    def test_live_again_after_an_old_delete(self):
        """A file that an expired snapshot deleted, and that is live again, stays."""
        self.insert(0)
        self.up("tag", "t", "create", "keep")
        self.sql("TRUNCATE TABLE t")
        # What a rollback that is published as a new latest leaves: the old state under a new id.
        with open(os.path.join(self.table, "snapshot/snapshot-1"), encoding="utf-8") as f:
            old = json.load(f)
        old["id"] = 3
        with open(os.path.join(self.table, "snapshot/snapshot-3"), "w", encoding="utf-8") as f:
            json.dump(old, f)
        os.remove(os.path.join(self.table, "tag/tag-keep"))
        self.insert(10)
        self.up("expire", "--retain-last", "1", "--older-than", "0s", "t")
        self.assertEqual(self.snapshots(), [4])
        self.assertEqual(self.keys(), [0, 1, 2, 10, 11, 12])

    def test_consumers(self):
        for i in range(4):
            self.insert(i * 10)
        self.write("consumer/consumer-flink", b'{"nextSnapshot": 2}')
        r = self.up("expire", "--retain-last", "1", "--older-than", "0s", "--json", "t").json()
        self.assertEqual(r["earliest"], 2)
        self.assertEqual(r["heldBy"], {"consumer": "flink", "nextSnapshot": 2})
        # An old one still counts, unless it is ours or an age is given.
        self.age("consumer/consumer-flink", 10 * DAY)
        r = self.up("expire", "--retain-last", "1", "--older-than", "0s", "--json", "t").json()
        self.assertEqual(r["earliest"], 2)
        r = self.up("expire", "--retain-last", "1", "--older-than", "0s", "--consumer-age", "9d", "--json", "t").json()
        self.assertEqual((r["earliest"], r["deadConsumers"]), (4, 1))
        self.insert(50)
        os.remove(os.path.join(self.table, "consumer/consumer-flink"))
        self.write("consumer/consumer-sluice-1", b'{"nextSnapshot": 4}')
        self.age("consumer/consumer-sluice-1", 3600)
        r = self.up("expire", "--retain-last", "1", "--older-than", "0s", "--json", "t").json()
        self.assertEqual((r["earliest"], r["deadConsumers"]), (5, 1))

    def test_bad_consumer_is_an_error(self):
        self.insert(0)
        self.insert(10)
        self.write("consumer/consumer-x", b"{")
        r = self.fails(7, "expire", "-w", self.warehouse, "--retain-last", "1", "--older-than", "0s", "t")
        self.assertIn("consumer-x", r.err)
        self.assertEqual(self.snapshots(), [1, 2])

    def test_killed_and_finished(self):
        for i in range(4):
            self.insert(i * 10)
            self.sql(f"DELETE FROM t WHERE k = {i * 10}")
        for point in ("upkeep.data-removed", "expire.snapshot-removed:2", "expire.snapshot-removed:4"):
            p = sluice.run("expire", "-w", self.warehouse, "--retain-last", "1", "--older-than", "0s", "t",
                           env={"SLUICE_FAILPOINT": f"{point}=exit"})
            self.assertNotEqual(p.status, 0)
            self.assertEqual(len(self.keys()), 8)
        self.up("expire", "--retain-last", "1", "--older-than", "0s", "t")
        self.assertEqual(self.snapshots(), [8])
        self.assertEqual(len(self.keys()), 8)
        self.sound()
        self.assertEqual(self.up("clean", "--older-than", "0s", "--force", "--json", "t").json()["count"], 0)

    def test_tag_with_a_time_to_live(self):
        self.insert(0)
        self.up("tag", "t", "create", "short", "--retain", "1s")
        self.up("tag", "t", "create", "long", "--retain", "30d")
        time.sleep(1.2)
        r = self.up("expire", "--json", "t").json()
        self.assertEqual(r["tags"], 1)
        self.assertEqual([t["name"] for t in self.up("tag", "--json", "t").json()], ["long"])

    def test_no_snapshots(self):
        self.assertIn("no snapshots", self.up("expire", "t").out)

    def test_damaged_table_is_left_alone(self):
        self.insert(0)
        self.sql("DELETE FROM t WHERE k = 1")
        self.insert(10)
        for manifest in self.files("manifest/manifest-*"):
            with open(os.path.join(self.table, manifest), "r+b") as f:
                f.truncate(20)
        before = self.files()
        self.fails(7, "expire", "-w", self.warehouse, "--retain-last", "1", "--older-than", "0s", "t")
        self.fails(7, "clean", "-w", self.warehouse, "--older-than", "0s", "--force", "t")
        after = self.files()
        self.assertEqual([f for f in before if f not in after], [])


class Clean(Upkeep):
    ORPHANS = ["p=a/bucket-0/data-lost.parquet", "p=z/bucket-0/data-lost-2.parquet", "manifest/manifest-lost-0",
               "manifest/.x.1.tmp", "snapshot/.snapshot-9.1.tmp", "index/index-lost", "statistics/stat-lost",
               ".sluice/stage/1/p=0/1.parquet"]

    def setUp(self):
        super().setUp()
        self.insert(0)
        self.sql("UPDATE t SET v = 'new' WHERE k = 1")

    def test_old_orphans_go(self):
        for path in self.ORPHANS:
            self.write(path)
        good = [f for f in self.files() if f not in self.ORPHANS]
        r = self.up("clean", "--json", "t").json()
        self.assertEqual((r["count"], r["young"]), (0, len(self.ORPHANS)))
        for path in self.ORPHANS:
            self.age(path, 2 * DAY)
        for path in good:
            self.age(path, 2 * DAY)
        r = self.up("clean", "--dry-run", "t")
        for path in self.ORPHANS:
            self.assertIn(path, r.out)
        self.assertIn("1 bytes", r.out)
        self.up("clean", "t")
        self.assertEqual(self.files(), good)
        for path in self.ORPHANS:
            self.assertFalse(os.path.exists(os.path.join(self.table, path)), path)
        self.sound()

    def test_less_than_a_day_wants_force(self):
        self.write(self.ORPHANS[0])
        r = self.fails(2, "clean", "-w", self.warehouse, "--older-than", "1h", "t")
        self.assertIn("--force", r.err)
        self.up("clean", "--older-than", "0s", "--force", "t")
        self.assertFalse(os.path.exists(os.path.join(self.table, self.ORPHANS[0])))

    def test_leaves_foreign_things_alone(self):
        for path in ("notes.txt", "backup/data-1.parquet", "schema/readme", "p=a/notes.txt"):
            self.write(path)
            self.age(path, 9 * DAY)
        before = self.files()
        self.up("clean", "t")
        self.assertEqual(self.files(), before)

    def test_branch_and_tag_keep_files(self):
        self.up("tag", "t", "create", "x")
        self.sql("TRUNCATE TABLE t")
        for snapshot in (1, 2):
            os.remove(os.path.join(self.table, f"snapshot/snapshot-{snapshot}"))
        self.write("snapshot/EARLIEST", b"3")
        for path in self.files():
            self.age(path, 2 * DAY)
        self.up("clean", "t")
        self.assertEqual(self.keys("FOR VERSION AS OF 'x'"), [0, 1, 2])

    def test_missing_manifest_stops_it(self):
        self.write(self.ORPHANS[0])
        self.age(self.ORPHANS[0], 2 * DAY)
        os.remove(os.path.join(self.table, [f for f in self.files("manifest/manifest-*") if "list" not in f][0]))
        self.fails(7, "clean", "-w", self.warehouse, "t")
        self.assertTrue(os.path.exists(os.path.join(self.table, self.ORPHANS[0])))


class Rollback(Upkeep):
    def test_to_a_snapshot(self):
        self.insert(0)
        self.insert(10)
        self.sql("DELETE FROM t WHERE k < 12")
        self.insert(20)
        r = self.up("rollback", "--snapshot", "2", "--dry-run", "--json", "t").json()
        self.assertEqual((r["latestBefore"], r["latest"], r["snapshots"], r["rowsBefore"], r["rows"]), (4, 2, 2, 4, 6))
        self.assertEqual(self.snapshots(), [1, 2, 3, 4])
        self.up("rollback", "--snapshot", "2", "t")
        self.assertEqual(self.snapshots(), [1, 2])
        self.assertEqual(self.keys(), [0, 1, 2, 10, 11, 12])
        self.sound()
        self.assertEqual(self.up("clean", "--older-than", "0s", "--force", "--json", "t").json()["count"], 0)
        self.insert(30)
        self.assertEqual(self.snapshots(), [1, 2, 3])
        self.assertEqual(len(self.keys()), 9)
        self.sound()

    def test_to_a_tag_whose_snapshot_has_expired(self):
        self.insert(0)
        self.up("tag", "t", "create", "first")
        self.sql("TRUNCATE TABLE t")
        self.insert(10)
        self.up("expire", "--retain-last", "1", "--older-than", "0s", "t")
        self.up("rollback", "--tag", "first", "t")
        self.assertEqual(self.snapshots(), [1])
        self.assertEqual(self.keys(), [0, 1, 2])
        self.sound()

    def test_newer_tags_stop_it(self):
        self.insert(0)
        self.insert(10)
        self.up("tag", "t", "create", "second")
        r = self.fails(6, "rollback", "-w", self.warehouse, "--snapshot", "1", "t")
        self.assertIn("second", r.err)
        self.up("rollback", "--snapshot", "1", "--drop-tags", "t")
        self.assertEqual(self.keys(), [0, 1, 2])
        self.assertEqual(self.up("tag", "--json", "t").json(), [])

    def test_wrong_targets(self):
        self.insert(0)
        self.fails(4, "rollback", "-w", self.warehouse, "--snapshot", "7", "t")
        self.fails(4, "rollback", "-w", self.warehouse, "--tag", "no", "t")
        self.fails(2, "rollback", "-w", self.warehouse, "t")
        self.fails(2, "rollback", "-w", self.warehouse, "--tag", "no", "--snapshot", "1", "t")

    def test_streams_load_again_what_was_removed(self):
        """A stream goes on from the position that the target knows, not from that of its tag."""
        source = os.path.join(self.dir, "in.ndjson")
        with open(source, "w", encoding="ascii") as f:
            f.writelines(f'{{"k": {i}}}\n' for i in range(100))
        load = ("ingest", "-w", self.warehouse, "-q", "--identity", "me", "--commit-rows", "25", "s", source)
        self.ok(*load, "--create")
        self.up("rollback", "--snapshot", "2", "s")
        self.assertEqual(self.rows("SELECT count(*) AS n FROM s"), [{"n": 50}])
        self.ok(*load)
        self.assertEqual(self.rows("SELECT count(*) AS n, count(DISTINCT k) AS d FROM s"), [{"n": 100, "d": 100}])
        self.up("verify", "s")

    def test_killed_between_snapshots(self):
        for i in range(5):
            self.insert(i * 10)
        p = sluice.run("rollback", "-w", self.warehouse, "--snapshot", "1", "t",
                       env={"SLUICE_FAILPOINT": "rollback.snapshot-removed:2=exit"})
        self.assertNotEqual(p.status, 0)
        self.assertEqual(self.snapshots(), [1, 2, 3])
        self.assertEqual(len(self.keys()), 9)
        self.up("rollback", "--snapshot", "1", "t")
        self.assertEqual(self.keys(), [0, 1, 2])


class Tags(Upkeep):
    def test_create_list_delete(self):
        self.fails(4, "tag", "-w", self.warehouse, "t", "create", "x")
        self.insert(0)
        self.insert(10)
        self.up("tag", "t", "create", "x", "--snapshot", "1")
        self.up("tag", "t", "create", "y")
        self.assertEqual([(t["name"], t["snapshot"], t["rows"]) for t in self.up("tag", "--json", "t").json()],
                         [("x", 1, 3), ("y", 2, 6)])
        self.assertIn("for ever", self.up("tag", "t", "list").out)
        self.fails(5, "tag", "-w", self.warehouse, "t", "create", "x")
        self.fails(4, "tag", "-w", self.warehouse, "t", "delete", "z")
        self.up("tag", "t", "delete", "x")
        self.assertEqual([t["name"] for t in self.up("tag", "--json", "t").json()], ["y"])
        self.assertEqual(self.keys("FOR VERSION AS OF 'y'"), [0, 1, 2, 10, 11, 12])

    def test_names(self):
        self.insert(0)
        for bad in ("12", "", "a/b", ".x", " x"):
            self.fails(3, "tag", "-w", self.warehouse, "t", "create", bad)
        self.up("tag", "t", "create", "größe 1")
        self.fails(2, "tag", "-w", self.warehouse, "t", "creat", "x")

    def test_time_to_live_is_in_the_file(self):
        self.insert(0)
        self.up("tag", "t", "create", "x", "--retain", "90d")
        with open(os.path.join(self.table, "tag/tag-x"), encoding="utf-8") as f:
            tag = json.load(f)
        self.assertEqual(tag["tagTimeRetained"], 90 * DAY)
        self.assertEqual(len(tag["tagCreateTime"]), 7)


class BesideWriters(Upkeep):
    def test_upkeep_while_others_write(self):
        """Expiry, cleaning and tags beside two writers: no row is lost, no writer fails."""
        writer = ("import subprocess, sys\n"
                  "for i in range(8):\n"
                  "    subprocess.run([sys.argv[1], 'sql', '-w', sys.argv[2], '-e',\n"
                  "        f'INSERT INTO t VALUES ({int(sys.argv[3]) + i}, NULL, ' + repr('p' + sys.argv[3]) + ')'], check=True)\n")
        import sys
        writers = [subprocess.Popen([sys.executable, "-c", writer, sluice.BIN, self.warehouse, str(n * 100)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for n in (1, 2)]
        while any(w.poll() is None for w in writers):
            self.up("expire", "--retain-last", "2", "--older-than", "0s", "t")
            self.up("clean", "t")
        for w in writers:
            self.assertEqual(w.returncode, 0, w.stderr.read())
            w.stderr.close()
        self.assertEqual(self.keys(), [*range(100, 108), *range(200, 208)])
        self.sound()


if __name__ == "__main__":
    unittest.main()
