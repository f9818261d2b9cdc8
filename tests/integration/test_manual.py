"""The manual pages name every command and every option, and nothing that is not there."""
import os
import re
import subprocess
import unittest

import sluice
from sluice import Case, ROOT

MAN = os.path.join(ROOT, "docs/man")


def page(name):
    with open(os.path.join(MAN, name), encoding="utf-8") as f:
        return f.read()


class Manual(Case):
    def commands(self):
        out = self.ok("--help").out
        return re.findall(r"^  (\w+) ", out.split("Commands:")[1], re.M)

    def test_each_command_has_a_page(self):
        overview = page("sluice.1.scd.in")
        for command in self.commands():
            with self.subTest(command=command):
                self.assertIn(f"*sluice-{command}*(1)", overview)
                self.assertTrue(os.path.exists(os.path.join(MAN, f"sluice-{command}.1.scd")))

    def test_options_agree(self):
        for command in self.commands():
            help_text = self.ok(command, "--help").out
            text = page(f"sluice-{command}.1.scd")
            real = set(re.findall(r"^  +(?:-\w, )?--([a-z-]+)", help_text, re.M))
            told = set(re.findall(r"\*--([a-z-]+)\*", text.split("# OPTIONS")[1].split("\n# ")[0]))
            with self.subTest(command=command):
                self.assertEqual(real - told - {"json", "verbose", "help"}, set(), "not in the manual page")
                self.assertEqual(told - real - {"json", "verbose", "help"}, set(), "only in the manual page")

    def test_pages_are_well_formed(self):
        try:
            subprocess.run(["scdoc", "-v"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        except FileNotFoundError:
            self.skipTest("scdoc is not installed")
        for name in sorted(os.listdir(MAN)):
            if name.endswith(".scd"):
                with open(os.path.join(MAN, name), "rb") as f:
                    p = subprocess.run(["scdoc"], stdin=f, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
                self.assertEqual(p.returncode, 0, (name, p.stderr))

    def test_exit_statuses(self):
        out = os.path.join(self.dir, "sluice.1.scd")
        subprocess.run([os.path.join(MAN, "exit-table"), os.path.join(MAN, "sluice.1.scd.in"),
                        os.path.join(ROOT, "include/sluice/errors.def"), out], check=True)
        with open(out, encoding="utf-8") as f:
            text = f.read()
        for status in (0, 2, 7, 13, 130):
            self.assertIn(f"*{status}*\n", text)


if __name__ == "__main__":
    unittest.main()
