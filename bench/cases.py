"""The cases of the benchmark, one function each; ALL names them in order."""
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import time

THREADS = "2"
COLUMNS = "columns={date: 'TIMESTAMP', delay: 'INT', distance: 'INT', origin: 'VARCHAR', destination: 'VARCHAR'}"
CREATE = "CREATE TABLE {} (`date` TIMESTAMP, delay INT, distance INT, origin STRING, destination STRING)"
PLACES = ("SLUICE_FLIGHTS", ".deps/flights-3m.parquet", ".deps/data/flights-3m.parquet")


def remove(path):
    shutil.rmtree(path, ignore_errors=True)


# ---- data, made once ----

def flights(b):
    """Parquet of the flights: the real ones if they are there, else made up in their shape."""
    def make():
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        for place in PLACES:
            path = os.environ.get(place) if place.isupper() else os.path.join(root, place)
            if path and os.path.exists(path):
                b.data_note = "real flights (vega-datasets)"
                return path
        b.data_note = "made-up flights"
        path = b.path("flights.parquet")
        b.run([b.duck, f"""COPY (SELECT TIMESTAMP '2001-01-01' + INTERVAL (i * 5) SECOND AS date, (hash(i) % 400)::INT - 60 AS delay,
            (hash(i * 7) % 2500)::INT + 100 AS distance, chr((65 + hash(i * 11) % 26)::INT) || chr((65 + hash(i * 13) % 12)::INT) || 'X'
            AS origin, chr((65 + hash(i * 17) % 26)::INT) || chr((65 + hash(i * 19) % 12)::INT) || 'Y' AS destination
            FROM range(3000000) r(i)) TO '{path}' (FORMAT parquet)"""])
        return path
    return cached(b, "flights", make)


def cached(b, name, make):
    if name not in b.made:
        b.made[name] = make()
    return b.made[name]


def ndjson(b):
    def make():
        path = b.path("flights.ndjson")
        b.run([b.duck, "-t", THREADS, f"""COPY (SELECT date::TIMESTAMP AS date, delay::INT AS delay, distance::INT AS distance, origin,
            destination FROM '{flights(b)}' LIMIT {300000 if b.quick else 3000000}) TO '{path}'
            (FORMAT json, TIMESTAMPFORMAT '%Y-%m-%d %H:%M:%S')"""])
        return path
    return cached(b, "ndjson", make)


def table_of(b, name, files, partition=""):
    """A warehouse whose table `flights` has so many files, by a commit each."""
    def make():
        warehouse = b.path(name)
        rows = int(b.run([b.duck, f"SELECT count(*)::VARCHAR FROM read_ndjson('{ndjson(b)}')"]))
        b.sql(warehouse, CREATE.format("flights") + partition)
        b.run([b.sluice, "ingest", "-w", warehouse, "flights", ndjson(b), "--commit-rows", str(-(-rows // files))])
        return warehouse
    return cached(b, name, make)


def data_files(warehouse):
    return sorted(glob.glob(os.path.join(warehouse, "default.db/flights/**/*.parquet"), recursive=True))


def list_of(paths):
    return "[" + ",".join(f"'{p}'" for p in paths) + "]"


def script(b, name, text):
    path = b.path(name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return "@" + path


# ---- cases ----

def ingest(b):
    source, warehouse, out = ndjson(b), b.path("w-ingest"), b.path("duck-out.parquet")

    def ours():
        remove(warehouse)
        b.sql(warehouse, CREATE.format("flights"))
        return b.seconds([b.sluice, "ingest", "-w", warehouse, "flights", source, "--commit-rows", "1000000"])

    def theirs():
        if os.path.exists(out):
            os.remove(out)
        return b.seconds([b.duck, "-t", THREADS, "-s", out, f"""COPY (SELECT * FROM read_ndjson('{source}', {COLUMNS})) TO '{out}'
            (FORMAT parquet, COMPRESSION zstd)"""])

    b.pairs_of("ingest NDJSON, a commit per 1 M rows", ours, theirs, 0.85)
    remove(warehouse)


def aggregate(b):
    warehouse = table_of(b, "w-200", 200)
    query = ("SELECT {} , count(*){}, sum(distance){}, avg(delay){} FROM {} GROUP BY origin ORDER BY count(*) DESC, origin LIMIT 5")
    files = script(b, "aggregate.sql", query.format("origin", "::VARCHAR", "::VARCHAR", "::VARCHAR",
                                                    f"read_parquet({list_of(data_files(warehouse))})"))

    def ours():
        return b.seconds([b.sluice, "sql", "-w", warehouse, "--format", "csv", "-e", query.format("origin", "", "", "", "flights")])

    b.pairs_of(f"aggregate over {len(data_files(warehouse))} files", ours, lambda: b.seconds([b.duck, "-t", THREADS, files]), 0.95)


def fresh(b, template):
    work = b.path("w-work")
    remove(work)
    shutil.copytree(template, work)
    return work


def compact(b):
    template = table_of(b, "w-2000", 200 if b.quick else 2000)
    n, out = len(data_files(template)), b.path("duck-merged.parquet")
    merge = script(b, "merge.sql", f"""COPY (SELECT * FROM read_parquet({list_of(data_files(template))})) TO '{out}'
        (FORMAT parquet, COMPRESSION zstd)""")

    def ours():
        work = fresh(b, template)
        return b.seconds([b.sluice, "compact", "-w", work, "flights", "--workers", "2", "--full"])

    def theirs():
        if os.path.exists(out):
            os.remove(out)
        return b.seconds([b.duck, "-t", THREADS, "-s", out, merge])

    b.pairs_of(f"compaction of {n} files, 2 workers", ours, theirs, 0.9)


def update(b):
    """The flights lie in the table by date, so a range of dates lies in few files."""
    template = table_of(b, "w-2000", 200 if b.quick else 2000)
    files, out = data_files(template), b.path("duck-rewritten")
    wanted = max(len(files) // 100, 1)
    middle = len(files) // 2
    by_name = b.run([b.duck, script(b, "names.sql", f"""SELECT min(date)::VARCHAR, max(date)::VARCHAR, filename
        FROM read_parquet({list_of(files)}, filename=true) GROUP BY filename ORDER BY min(date)""")]).splitlines()
    chosen = [line.split("\t") for line in by_name[middle:middle + wanted]]
    low, high = chosen[0][0], chosen[-1][1]
    where = f"date BETWEEN TIMESTAMP '{low}' AND TIMESTAMP '{high}'"
    # DuckDB finds the files, a program around it writes one COPY for each: both are timed.
    find = script(b, "find.sql", f"SELECT DISTINCT filename FROM read_parquet({list_of(files)}, filename=true) WHERE {where}")

    def ours():
        work = fresh(b, template)
        return b.seconds([b.sluice, "sql", "-w", work, "-e", f"UPDATE flights SET delay = delay + 1 WHERE {where.replace('date ', '`date` ', 1)}"])

    def theirs():
        remove(out)
        os.mkdir(out)
        start = time.perf_counter()
        hits = b.run([b.duck, "-t", THREADS, find]).splitlines()
        b.run([b.duck, "-t", THREADS, "-s", out] + [f"""COPY (SELECT date, CASE WHEN {where} THEN delay + 1 ELSE delay END AS delay, distance,
            origin, destination FROM '{hit}') TO '{out}/{i}.parquet' (FORMAT parquet, COMPRESSION zstd)""" for i, hit in enumerate(hits)])
        return time.perf_counter() - start

    b.pairs_of(f"UPDATE of rows in {wanted} of {len(files)} files", ours, theirs, 0.8)


def tiny(b):
    """A Parquet file of one row."""
    def make():
        path = b.path("tiny.parquet")
        b.run([b.duck, f"COPY (SELECT 1::INT AS p, 1::BIGINT AS v) TO '{path}' (FORMAT parquet, COMPRESSION zstd)"])
        return path
    return cached(b, "tiny", make)


def live_table(b, live, commits):
    warehouse = b.path(f"w-live-{live}")
    remove(warehouse)
    b.sql(warehouse, "CREATE TABLE t (p INT, v BIGINT) PARTITIONED BY (p)")
    return warehouse, [float(v) for v in b.run([b.commits, os.path.join(warehouse, "default.db/t"), tiny(b), str(live),
                                                str(commits)]).split()]


def commits(b):
    from measure import quantile
    for live, target in ((10, 50), (1000, 50), (10000 if b.quick else 100000, 250)):
        warehouse, millis = live_table(b, live, 50 if b.quick else 200)
        tenth = len(millis) // 10
        note = (f"median {quantile(millis, .5):.1f} ms, greatest {max(millis):.1f} ms; first tenth {quantile(millis[:tenth], .5):.1f}, "
                f"last tenth {quantile(millis[-tenth:], .5):.1f}")
        b.add(f"commit p99 at {live} live files", [quantile(millis, .99)], "ms", target, higher=False, note=note, commits=len(millis))
        b.made["w-live"] = warehouse


def plan(b):
    warehouse = b.made.get("w-live") or live_table(b, 10000 if b.quick else 100000, 1)[0]
    seconds, peaks = [], []
    for _ in range(b.pairs):
        s, peak = b.peak([b.sluice, "sql", "-w", warehouse, "-e", "EXPLAIN SELECT * FROM t WHERE p = 7"])
        seconds.append(s * 1000)
        peaks.append(peak / 2 ** 20)
    b.add("plan of 100,000 files, one partition" if not b.quick else "plan of 10,000 files, one partition", seconds, "ms", note="whole program")
    b.add("  its peak resident memory", peaks, "MiB")


def race(b):
    processes, each = (4, 20) if b.quick else (16, 200)
    warehouse = b.path("w-race")
    remove(warehouse)
    b.sql(warehouse, "CREATE TABLE t (w INT, i INT)")
    lines = ["".join(f'{{"w":{w},"i":{i}}}\n' for i in range(each)).encode() for w in range(processes)]

    def one(w):
        p = subprocess.run([b.sluice, "ingest", "-w", warehouse, "t", "-", "--format", "ndjson", "--commit-rows", "1", "--identity", f"w{w}"],
                           input=lines[w], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env)
        return p.returncode, p.stderr.decode("utf-8", "replace")[-300:]

    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        ends = list(pool.map(one, range(processes)))
    seconds = time.perf_counter() - start
    failed = [text for code, text in ends if code != 0]
    total, distinct = b.sql(warehouse, "SELECT count(*), count(DISTINCT w * 100000 + i) FROM t", "--format", "csv").splitlines()[1].split(",")
    lost, doubled = processes * each - int(distinct), int(total) - int(distinct)
    b.add(f"{processes} processes x {each} commits", [processes * each / seconds], "commits/s",
          note=f"{lost} lost, {doubled} doubled, {len(failed)} failed" + (f": {failed[0]}" if failed else ""))
    b.add("  lost, doubled or failed", [lost + doubled + len(failed)], "", 0, higher=False)


def first_row(b):
    warehouse = table_of(b, "w-200", 200)
    millis = []
    for _ in range(b.pairs * 2):
        start = time.perf_counter()
        p = subprocess.Popen([b.sluice, "sql", "-w", warehouse, "--format", "csv", "-e", "SELECT * FROM flights LIMIT 1"],
                             stdout=subprocess.PIPE, env=b.env)
        header, row = p.stdout.readline(), p.stdout.readline()
        millis.append((time.perf_counter() - start) * 1000)
        p.stdout.read()
        if p.wait() != 0 or not header or not row:
            raise RuntimeError("no row came")
    b.add("start to first row", millis, "ms", 60, higher=False)


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def follow(b):
    size, idle = (64 << 20, 10) if b.quick else (1 << 30, 60)
    warehouse, source = b.path("w-follow"), b.path("follow.ndjson")
    remove(warehouse)
    b.sql(warehouse, CREATE.format("flights"))
    with open(ndjson(b), "rb") as f:
        text = f.read()
    with open(source, "wb") as f:
        while f.tell() < size:
            f.write(text)
    want = text.count(b"\n") * -(-size // len(text))
    with open(b.path("follow.err"), "wb") as err:
        p = subprocess.Popen([b.sluice, "ingest", "-w", warehouse, "flights", source, "--follow", "--commit-interval", "5"],
                             stdout=subprocess.DEVNULL, stderr=err, env=b.env)
    try:
        end = time.time() + 300
        while int(b.sql(warehouse, "SELECT count(*) FROM flights", "--format", "csv").split()[1]) < want:
            if time.time() > end or p.poll() is not None:
                raise RuntimeError("the load did not end")
            time.sleep(2)
        time.sleep(idle)
        rss = resident(p.pid) / 2 ** 20
    finally:
        p.terminate()
        p.wait()
    b.add(f"ingest --follow, {idle} s after {size >> 20} MiB", [rss], "MiB", 64, higher=False, note="resident")
    os.remove(source)
    remove(warehouse)


def memory(b):
    """Rows of 100 MB under --memory 1GB: peak resident memory in ingest, compaction, UPDATE."""
    rows, mb = (4, 20) if b.quick else (64, 100)
    limit = "1GB"
    warehouse, source = b.path("w-memory"), b.path("memory.fifo")
    remove(warehouse)
    b.sql(warehouse, "CREATE TABLE t (id INT, v STRING) WITH ('target-file-size' = '1 gb')")
    if os.path.exists(source):
        os.remove(source)

    def feed():
        # Text that compresses a little, as real text does.
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(r)
            with os.fdopen(w, "wb") as f:
                for i in range(rows):
                    f.write(b'{"id":%d,"v":"' % i)
                    for _ in range(mb):
                        f.write(os.urandom(1 << 19).hex().encode())
                    f.write(b'"}\n')
            os._exit(0)
        os.close(w)
        return r, pid

    r, pid = feed()
    steps = []
    with os.fdopen(r, "rb") as pipe:
        steps.append(("ingest", b.peak([b.sluice, "ingest", "-w", warehouse, "t", "-", "--format", "ndjson", "--memory", limit, "--commit-rows", str(rows // 4)],
                                       stdin=pipe)))
    os.waitpid(pid, 0)
    steps.append(("compaction", b.peak([b.sluice, "compact", "-w", warehouse, "t", "--full", "--memory", limit])))
    steps.append(("UPDATE", b.peak([b.sluice, "sql", "-w", warehouse, "--memory", limit, "-e", "UPDATE t SET id = id + 1 WHERE id < 8"])))
    for name, (seconds, peak) in steps:
        b.add(f"{rows} rows of {mb} MB under 1 GB: {name}", [peak / 2 ** 20], "MiB", 1024, higher=False, note=f"{seconds:.1f} s")
    remove(warehouse)


# ---- the exchange ----

def exchange_run(b, *args, program="exchange"):
    return json.loads(b.run([os.path.join(b.build, "bench", program), *map(str, args)]))


def exchange(b):
    """From serialized to assembled bytes between two processes, beside sockets alone and Thrift's own library for C."""
    scale = 8 if b.quick else 1
    limit, mib = 4 << 20, 2 ** 20
    glib = os.path.exists(os.path.join(b.build, "bench/exchange_glib"))
    for name, blocks, size in ((f"exchange of {1024 // scale} MiB in blocks of 128 KiB", 8192 // scale, 128 << 10),
                               (f"exchange of one value of {512 // scale} MiB", 1, (512 << 20) // scale)):
        peaks = {"sender": [], "receiver": [], "payload": []}

        def ours():
            r = exchange_run(b, "ours", blocks, size, limit)
            peaks["sender"].append(r["senderPeakKiB"] / 1024)
            peaks["receiver"].append((r["receiverPeakKiB"] - (size >> 10) * (blocks == 1)) / 1024)
            peaks["payload"].append(r["largestPayload"] / mib)
            return r["seconds"]

        b.pairs_of(name, ours, lambda: exchange_run(b, "plain", blocks, size, limit)["seconds"], 0.85)
        if glib:
            pairs, b.pairs = b.pairs, 3
            b.pairs_of("  beside Thrift c_glib", ours, lambda: exchange_run(b, blocks, size, limit, program="exchange_glib")["seconds"], 2)
            b.pairs = pairs
        b.add("  largest payload of a response", [max(peaks["payload"])], "MiB", limit / mib, higher=False)
        if blocks == 1:
            b.add("  sender: peak beside the serialized copy", peaks["sender"], "MiB", 9, higher=False)
            b.add("  receiver: peak beside the assembled copy", peaks["receiver"], "MiB", 9, higher=False)
    n = 20 if b.quick else 100
    r = exchange_run(b, "idle", n, 8 << 20)
    for side in ("sender", "receiver"):
        b.add(f"idle pooled connection, {side}", [r[side + "IdleKiB"] / n], "KiB", 64, higher=False, note=f"{n} of them, after as many values of 8 MiB at once")
    r = exchange_run(b, "channels", 1000, 20 if b.quick else 100, 2000)
    total = 1000 * (20 if b.quick else 100) * 2000 / mib
    b.add("1,000 channels at once", [total / r["seconds"]], "MiB/s", note=f"{total:.0f} MiB in blocks of 2 kB; peak {r['senderPeakKiB'] / 1024:.0f} MiB "
          f"at the sender, {r['receiverPeakKiB'] / 1024:.0f} MiB at the receiver")


ALL = {"ingest": ingest, "aggregate": aggregate, "compact": compact, "update": update, "commits": commits, "plan": plan, "race": race,
       "first-row": first_row, "follow": follow, "memory": memory, "exchange": exchange}
