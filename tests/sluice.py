"""What the tests that go through the program share: running it, a warehouse that goes away, fixtures."""
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("SLUICE_BIN") or os.path.join(ROOT, "build-test/sluice")
FIXTURES = os.environ.get("SLUICE_FIXTURES") or os.path.join(ROOT, "../shared/fixtures")
LONG = os.environ.get("SLUICE_LONG") == "1"
SEED = int(os.environ.get("SLUICE_TEST_SEED") or 1)
SANITIZER_STATUS = {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:", "WARNING: ThreadSanitizer"}


class Result:
    def __init__(self, args, status, out, err):
        self.args, self.status, self.out, self.err = args, status, out, err

    def json(self):
        return json.loads(self.out)

    def lines(self):
        """Standard output as one JSON value a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def __repr__(self):
        return f"sluice {' '.join(self.args)}: status {self.status}\n{self.out[-3000:]}\n{self.err[-3000:]}"


def run(*args, stdin=None, env=None, cwd=None, timeout=120):
    """Runs the program to its end. STDIN is text or bytes."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    p = subprocess.run([BIN, *map(str, args)], input=stdin if stdin is not None else b"", env={**os.environ, **(env or {})},
                       cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    r = Result(list(map(str, args)), p.returncode, p.stdout.decode("utf-8", "replace"),
               p.stderr.decode("utf-8", "replace"))
    for mark in SANITIZER_STATUS:
        if mark in r.err:
            raise AssertionError(f"sanitizer: {r!r}")
    return r


def start(*args, env=None, cwd=None, **popen):
    """Starts the program and leaves it running; the caller ends it."""
    return subprocess.Popen([BIN, *map(str, args)], env={**os.environ, **(env or {})}, cwd=cwd, **popen)


def wait_stopped(process, seconds=60):
    """Until a process has stopped itself at a failpoint; SIGCONT lets it go on."""
    end = time.monotonic() + seconds
    while process.poll() is None:
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as f:
            if f.read().rpartition(")")[2].split()[0] == "T":
                return
        if time.monotonic() > end:
            raise TimeoutError("the process did not come to its failpoint")
        time.sleep(0.02)
    raise ChildProcessError(f"the process ended with {process.returncode} before its failpoint")


class Case(unittest.TestCase):
    """A test with a folder of its own, self.dir, and a warehouse in it, self.warehouse."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sluice-test.")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.warehouse = os.path.join(self.dir, "warehouse")

    def ok(self, *args, **kw):
        r = run(*args, **kw)
        self.assertEqual(r.status, 0, r)
        return r

    def fails(self, status, *args, **kw):
        """Runs the program and expects the exit status; returns the result, whose err should tell why."""
        r = run(*args, **kw)
        self.assertEqual(r.status, status, r)
        self.assertIn("error", r.err, r)
        return r

    def sql(self, text, *args, **kw):
        return self.ok("sql", "-w", self.warehouse, *args, "-e", text, **kw)

    def rows(self, query, **kw):
        """Rows of a query as a list of dicts."""
        return self.sql(query, "--format", "ndjson", **kw).lines()
