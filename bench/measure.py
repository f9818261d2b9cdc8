"""Running programs, timing them in interleaved pairs, and what the figures say."""
import math
import os
import statistics
import subprocess
import time


def interval(values):
    """The median with its 95 % interval: order statistics by the binomial distribution, the whole range for few values."""
    v = sorted(values)
    n = len(v)
    k = 0
    while k + 1 <= (n - 1) // 2 and 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2 ** n <= 0.05:
        k += 1
    k = max(k - 1, 0)
    return statistics.median(v), v[k], v[n - 1 - k]


def quantile(values, q):
    v = sorted(values)
    return v[min(len(v) - 1, math.ceil(q * len(v)) - 1)]


class Bench:
    def __init__(self, build, folder, quick):
        self.build, self.folder, self.quick = build, folder, quick
        self.pairs = 3 if quick else 9
        self.results, self.errors = [], {}
        self.data_note = "none"
        self.made = {}
        self.sluice = os.path.join(build, "sluice")
        self.duck = os.path.join(build, "bench/duck")
        self.commits = os.path.join(build, "bench/commits")
        self.env = {**os.environ, "LC_ALL": "C"}

    def version(self):
        return self.run([self.sluice, "--version"]).splitlines()[0]

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    # ---- running ----

    def run(self, command, stdin=None):
        """Standard output of a program that must succeed."""
        p = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env)
        if p.returncode != 0:
            text = p.stderr.decode("utf-8", "replace").strip()[-500:]
            raise RuntimeError(f"{os.path.basename(command[0])} {' '.join(map(str, command[1:]))[:200]}: status {p.returncode}: {text}")
        return p.stdout.decode("utf-8", "replace")

    def seconds(self, command):
        start = time.perf_counter()
        self.run(command)
        return time.perf_counter() - start

    def peak(self, command, stdin=None):
        """Seconds and peak resident bytes of a program."""
        start = time.perf_counter()
        with open(self.path("peak.err"), "wb") as err:
            p = subprocess.Popen(command, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, env=self.env)
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode != 0:
            with open(self.path("peak.err"), encoding="utf-8", errors="replace") as f:
                raise RuntimeError(f"{' '.join(map(str, command))[:200]}: status {p.returncode}: {f.read()[-500:]}")
        return time.perf_counter() - start, usage.ru_maxrss * 1024

    def sql(self, warehouse, text, *more):
        return self.run([self.sluice, "sql", "-w", warehouse, *more, "-e", text])

    # ---- figures ----

    def add(self, name, values, unit, target=None, higher=True, note="", **more):
        """One figure from its single values. HIGHER: more is better."""
        median, low, high = interval(values)
        r = {"name": name, "median": median, "unit": unit, "values": [round(v, 5) for v in values], "note": note, **more}
        if len(values) > 1:
            r["low"], r["high"] = low, high
        if target is not None:
            r["target"], r["higher"] = target, higher
            r["met"] = bool(high >= target if higher else low <= target)
        self.results.append(r)

    def pairs_of(self, name, ours, theirs, target):
        """OURS and THEIRS give seconds; the figure is how fast we are beside them: 1 = the same, 2 = twice as fast."""
        ratios, mine, other = [], [], []
        for i in range(self.pairs + 1):
            if i % 2:
                b = theirs()
                a = ours()
            else:
                a = ours()
                b = theirs()
            if i == 0:
                continue  # both warm
            mine.append(a)
            other.append(b)
            ratios.append(b / a)
        self.add(name, ratios, "ratio", target, note=f"{statistics.median(mine):.2f} s beside {statistics.median(other):.2f} s",
                 seconds=[round(v, 4) for v in mine], baselineSeconds=[round(v, 4) for v in other])
