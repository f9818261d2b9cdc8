"""Random statements against a table and against a list of rows in memory: both must agree after each, and the past must stay."""
import json
import os
import random
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sluice

SECONDS = 600 if sluice.LONG else 45
TYPES = {"INT": lambda r: r.randrange(-50, 50), "STRING": lambda r: r.choice(["", "a", "b", "it's", "\u00e4\u00f6", "x" * 20]),
         "BIGINT": lambda r: r.randrange(-10**12, 10**12), "BOOLEAN": lambda r: r.random() < 0.5}


class Session:
    """One long-lived program, statements in, rows out."""

    def __init__(self, warehouse):
        self.err = open(os.path.join(warehouse + ".err"), "w+")
        self.p = subprocess.Popen([sluice.BIN, "sql", "-w", warehouse, "--format", "ndjson", "--keep-going"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=self.err)
        self.n = 0

    def run(self, statement):
        self.n += 1
        self.p.stdin.write((statement + ";\nSELECT %d AS \"the end\";\n" % self.n).encode())
        self.p.stdin.flush()
        rows = []
        for line in self.p.stdout:
            row = json.loads(line)
            if row.get("the end") == self.n:
                return rows
            rows.append(row)
        raise AssertionError("the program ended: " + self.errors())

    def errors(self):
        self.err.seek(0)
        return self.err.read()

    def close(self):
        self.p.stdin.close()
        self.p.stdout.close()
        return self.p.wait(30)


def literal(v):
    if v is None:
        return "NULL"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, str):
        return "'" + v.replace("'", "''") + "'"
    return str(v)


class Model:
    """The table as SQL says it is: columns with types, rows as dicts, what each snapshot held."""

    def __init__(self, rng, partitioned):
        self.rng = rng
        self.columns = {"id": "BIGINT", "a": "INT", "s": "STRING", "p": "STRING"}
        self.partition = "p" if partitioned else None
        self.rows, self.next_id, self.fresh = [], 0, 0

    def value(self, column):
        if column == "p":
            return self.rng.choice(["p1", "p2", "p3", None])
        if self.rng.random() < 0.15:
            return None
        return TYPES[self.columns[column]](self.rng)

    def row(self):
        self.next_id += 1
        return {c: self.next_id if c == "id" else self.value(c) for c in self.columns}

    def sorted(self, rows):
        return sorted((tuple(r[c] for c in self.columns) for r in rows), key=lambda t: t[list(self.columns).index("id")])

    def condition(self):
        """SQL and the same in Python, NULL counted as no match."""
        c = self.rng.choice(list(self.columns))
        kind = self.rng.randrange(4)
        if kind == 0:
            return "%s IS NULL" % c, lambda r: r[c] is None
        if kind == 1:
            ids = self.rng.sample(range(1, self.next_id + 2), min(5, self.next_id + 1))
            return "id IN (%s)" % ", ".join(map(str, ids)), lambda r: r["id"] in ids
        v = self.rng.randrange(1, self.next_id + 2) if c == "id" else self.value(c)
        if kind == 2 or isinstance(v, bool):
            return "%s = %s" % (c, literal(v)), lambda r: r[c] is not None and v is not None and r[c] == v
        if isinstance(v, str):
            return "%s > %s" % (c, literal(v)), lambda r: r[c] is not None and r[c].encode() > v.encode()
        return "%s < %s" % (c, literal(v)), lambda r: r[c] is not None and v is not None and r[c] < v

    # Each gives a statement, and changes the rows.
    def insert(self):
        new = [self.row() for _ in range(self.rng.choice([1, 3, 40]))]
        self.rows += new
        return "INSERT INTO t VALUES " + ", ".join("(%s)" % ", ".join(literal(r[c]) for c in self.columns) for r in new)

    def insert_some(self):
        r = self.row()
        given = [c for c in self.columns if c == "id" or self.rng.random() < 0.5]
        self.rows.append({c: r[c] if c in given else None for c in self.columns})
        return "INSERT INTO t (%s) VALUES (%s)" % (", ".join(given), ", ".join(literal(r[c]) for c in given))

    def insert_self(self):
        if not 0 < len(self.rows) < 300:
            return self.insert()
        base = self.next_id
        sql, match = self.condition()
        self.rows += [dict(r, id=r["id"] + base) for r in self.rows if match(r)]
        self.next_id *= 2
        return "INSERT INTO t SELECT %s FROM t WHERE %s" % (", ".join("id + %d" % base if c == "id" else c for c in self.columns), sql)

    def update(self):
        sql, match = self.condition()
        c = self.rng.choice([c for c in self.columns if c != "id"])
        if self.columns[c] == "INT" and self.rng.random() < 0.5:
            for r in self.rows:
                if match(r):
                    r[c] = None if r[c] is None else r[c] + 1
            return "UPDATE t SET %s = %s + 1 WHERE %s" % (c, c, sql)
        v = self.value(c)
        for r in self.rows:
            if match(r):
                r[c] = v
        return "UPDATE t SET %s = %s WHERE %s" % (c, literal(v), sql)

    def delete(self):
        sql, match = self.condition()
        self.rows = [r for r in self.rows if not match(r)]
        return "DELETE FROM t WHERE " + sql

    def delete_partition(self):
        v = self.rng.choice(["p1", "p2"])
        self.rows = [r for r in self.rows if r["p"] != v]
        if self.partition and self.rng.random() < 0.5:
            return "ALTER TABLE t DROP PARTITION (p = '%s')" % v
        return "DELETE FROM t WHERE p = '%s'" % v

    def overwrite(self):
        new = [self.row() for _ in range(self.rng.choice([1, 5]))]
        if self.partition:
            parts = {r["p"] for r in new}
            self.rows = [r for r in self.rows if r["p"] not in parts]
        else:
            self.rows = []
        self.rows += new
        return "INSERT OVERWRITE t VALUES " + ", ".join("(%s)" % ", ".join(literal(r[c]) for c in self.columns) for r in new)

    def truncate(self):
        if self.rng.random() < 0.7:
            return self.insert()
        self.rows = []
        return "TRUNCATE TABLE t"

    def add_column(self):
        if len(self.columns) > 7:
            return self.drop_column()
        self.fresh += 1
        name, kind = "n%d" % self.fresh, self.rng.choice(list(TYPES))
        self.columns[name] = kind
        for r in self.rows:
            r[name] = None
        return "ALTER TABLE t ADD COLUMN %s %s" % (name, kind)

    def drop_column(self):
        extra = [c for c in self.columns if c not in ("id", "p")]
        if len(extra) < 2:
            return self.insert()
        c = self.rng.choice(extra)
        del self.columns[c]
        for r in self.rows:
            del r[c]
        return "ALTER TABLE t DROP COLUMN " + c

    def rename_column(self):
        c = self.rng.choice([c for c in self.columns if c not in ("id", "p")] or ["id"])
        if c == "id":
            return self.insert()
        self.fresh += 1
        new = "r%d" % self.fresh
        self.columns = {new if k == c else k: v for k, v in self.columns.items()}
        self.rows = [{new if k == c else k: v for k, v in r.items()} for r in self.rows]
        return "ALTER TABLE t RENAME COLUMN %s TO %s" % (c, new)

    def widen(self):
        c = next((c for c, k in self.columns.items() if k == "INT"), None)
        if not c or self.rng.random() < 0.5:
            return self.update()
        self.columns[c] = "BIGINT"
        return "ALTER TABLE t MODIFY %s BIGINT" % c

    def compact(self):
        return "CALL compact('t')"


STEPS = [(Model.insert, 8), (Model.insert_some, 2), (Model.insert_self, 1), (Model.update, 6), (Model.delete, 3), (Model.delete_partition, 1),
         (Model.overwrite, 1), (Model.truncate, 1), (Model.add_column, 1), (Model.drop_column, 1), (Model.rename_column, 1), (Model.widen, 1),
         (Model.compact, 1)]


class Random(sluice.Case):
    def one(self, seed, until):
        rng = random.Random(seed)
        model = Model(rng, rng.random() < 0.7)
        warehouse = os.path.join(self.dir, "w%d" % seed)
        s = Session(warehouse)
        trace = ["CREATE TABLE t (id BIGINT, a INT, s STRING, p STRING)" + (" PARTITIONED BY (p)" if model.partition else "")]
        s.run(trace[0])
        past = []
        try:
            for step in range(60):
                if time.monotonic() > until:
                    break
                trace.append(rng.choices([f for f, _ in STEPS], [w for _, w in STEPS])[0](model))
                s.run(trace[-1])
                got = model.sorted(s.run("SELECT * FROM t"))
                self.assertEqual(s.errors(), "", trace[-1])
                self.assertEqual(got, model.sorted(model.rows))
                if rng.random() < 0.3:
                    ids = s.run("SELECT max(snapshot_id) AS m FROM t$snapshots")
                    if ids and ids[0]["m"]:
                        past.append((ids[0]["m"], len(model.rows), sum(r["id"] for r in model.rows)))
                if past and rng.random() < 0.3:
                    snapshot, count, total = rng.choice(past)
                    r = s.run("SELECT count(*) AS n, coalesce(sum(id), 0) AS t FROM t VERSION AS OF %d" % snapshot)[0]
                    self.assertEqual((r["n"], r["t"]), (count, total), "snapshot %d" % snapshot)
        except AssertionError:
            print("seed %d, after:\n  %s" % (seed, ";\n  ".join(trace)), file=sys.stderr)
            raise
        finally:
            status = s.close()
        self.assertEqual(status, 0, s.errors())
        s.err.close()
        return len(trace)

    def test_random_statements(self):
        until = time.monotonic() + SECONDS
        seed, steps = sluice.SEED * 1000, 0
        while time.monotonic() < until:
            steps += self.one(seed, until)
            seed += 1
        print("seeds %d to %d, %d statements" % (sluice.SEED * 1000, seed - 1, steps))


if __name__ == "__main__":
    unittest.main()
