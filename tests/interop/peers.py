"""One warehouse, and three that read and write it: Sluice, pypaimon, pypaimon-rust."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon_rust.datafusion import PaimonCatalog, SQLContext

SLUICE = os.environ["SLUICE_BIN"]


def by_id(rows):
    return sorted(rows, key=lambda r: r["id"])


class Exchange(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.wh = tempfile.mkdtemp(prefix="sluice-interop.")
        self.addCleanup(shutil.rmtree, self.wh)

    # Sluice

    def run_sluice(self, *args):
        return subprocess.run([SLUICE, args[0], "-w", self.wh, *args[1:]], capture_output=True, text=True, timeout=60)

    def sluice(self, *args):
        p = self.run_sluice(*args)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        return p.stdout

    def sql(self, text):
        return self.sluice("sql", "-e", text)

    def ours(self, query):
        return [json.loads(line) for line in self.sluice("sql", "--format", "ndjson", "-e", query).splitlines()]

    def refused(self, query, *words):
        p = self.run_sluice("sql", "-e", query)
        self.assertNotEqual(p.returncode, 0, p.stdout)
        for word in words:
            self.assertIn(word, p.stderr)

    # pypaimon

    def theirs(self, name):
        return CatalogFactory.create({"warehouse": self.wh}).get_table(f"default.{name}")

    def create_theirs(self, name, schema, partition_keys=(), options=None):
        catalog = CatalogFactory.create({"warehouse": self.wh})
        catalog.create_database("default", True)
        catalog.create_table(f"default.{name}", Schema.from_pyarrow_schema(
            schema, partition_keys=list(partition_keys), options={"bucket": "-1", **(options or {})}), True)

    def pypaimon(self, name, options=None, where=None):
        table = self.theirs(name)
        builder = (table.copy(options) if options else table).new_read_builder()
        if where:
            builder = builder.with_filter(where(builder.new_predicate_builder()))
        return by_id(builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist())

    def write_pypaimon(self, name, rows, schema, overwrite=None):
        builder = self.theirs(name).new_batch_write_builder()
        if overwrite is not None:
            builder = builder.overwrite(overwrite)
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(pa.Table.from_pylist(rows, schema=schema))
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    # pypaimon-rust

    def rust_table(self, name):
        return PaimonCatalog({"warehouse": self.wh}).get_table(f"default.{name}")

    def rust(self, name, options=None):
        builder = self.rust_table(name).new_read_builder(options)
        batches = builder.new_read().read(builder.new_scan().plan().splits())
        return by_id(r for b in batches for r in b.to_pylist())

    def write_rust(self, name, rows, schema, overwrite=None):
        builder = self.rust_table(name).new_batch_write_builder()
        if overwrite is not None:
            builder = builder.with_overwrite(overwrite)
        write, commit = builder.new_write(), builder.new_commit()
        for batch in pa.Table.from_pylist(rows, schema=schema).to_batches():
            write.write_arrow(batch)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def rust_sql(self, text):
        context = SQLContext()
        context.register_catalog("paimon", {"warehouse": self.wh})
        context.set_current_catalog("paimon")
        context.set_current_database("default")
        return [r for b in context.sql(text) for r in b.to_pylist()]

    # all

    def writers(self):
        return (("pypaimon", self.write_pypaimon), ("rust", self.write_rust))

    def both(self, name, options=None):
        rows = self.pypaimon(name, options)
        self.assertEqual(rows, self.rust(name, options))
        return rows

    def folders(self, name):
        return sorted(d for d in os.listdir(os.path.join(self.wh, "default.db", name)) if "=" in d)
