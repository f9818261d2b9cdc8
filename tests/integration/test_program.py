"""The program around the commands: help, versions, options, errors, signals, output that cannot be written."""
import json
import unittest

from sluice import Case, run


class Program(Case):
    def test_version(self):
        out = self.ok("--version").out
        self.assertRegex(out, r"^sluice \d+\.\d+\.\d+\n")
        self.assertRegex(out, r"\nDuckDB v\d+\.\d+\.\d+\nPaimon ")

    def test_help(self):
        listing = self.ok("--help").out
        self.assertEqual(listing, self.ok("help").out)
        commands = [line.split()[0] for line in listing.split("Commands:\n")[1].split("\n\n")[0].splitlines()]
        self.assertIn("doctor", commands)
        for c in commands:
            text = self.ok(c, "--help").out
            self.assertEqual(text, self.ok("help", c).out)
            self.assertRegex(text, rf"^Usage: sluice {c}")
            for part in ("Options:", "--help", "Examples:"):
                self.assertIn(part, text, c)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 100, f"{c}: {line}")

    def test_wrong_use(self):
        r = self.fails(2, "docter")
        self.assertIn('did you mean "sluice doctor"?', r.err)
        r = self.fails(2, "doctor", "--jsn")
        self.assertIn("did you mean --json?", r.err)
        self.fails(2, "doctor", "-x")
        self.fails(2, "doctor", "a", "b")
        self.fails(2, "doctor", "--json=yes")
        r = self.fails(2, "doctor", "--warehouse")
        self.assertIn("needs a value", r.err)
        self.fails(2)
        self.fails(2, "help", "nothing")

    def test_errors_as_json(self):
        r = self.fails(4, "doctor", "--json", self.dir + "/absent")
        e = json.loads(r.err)
        self.assertEqual((e["code"], e["status"]), ("SL_ENOTFOUND", 4))
        self.assertIn("absent", e["error"])
        self.assertTrue(e["hint"])
        self.assertEqual(json.loads(self.fails(2, "doctor", "--json", "--jsn").err)["code"], "SL_EUSAGE")

    def test_output_that_cannot_be_written(self):
        import subprocess
        from sluice import BIN
        with open("/dev/full", "w") as full:
            p = subprocess.run([BIN, "--version"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(p.returncode, 10)
        self.assertIn(b"cannot write to standard output", p.stderr)


class Doctor(Case):
    def test_text_and_json(self):
        d = self.ok("doctor", "--json", self.dir).json()
        self.assertTrue(d["safe"])
        self.assertGreater(d["totalBytes"], 0)
        text = self.ok("doctor", self.dir).out
        self.assertIn("Tables are safe here.", text)
        self.assertIn(d["fileSystem"], text)
        self.assertEqual(run("doctor", "--json", env={"SLUICE_WAREHOUSE": self.dir}).json()["folder"], self.dir)


if __name__ == "__main__":
    unittest.main()
