#!/usr/bin/env python3
"""tools/lines on a small made-up tree: it counts code alone, and fails when a folder is above its number."""

import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TREE = {
    "src/os/a.h": "#pragma once\n\n// A comment.\nint A();  // and one after code\n",
    "src/os/deep/a.cc": "int A() {\n  // Indented.\n  return 1;\n}\n",
    "src/os/a_test.cc": "int B();\n" * 50,
    "src/os/testing_a.h": "int C();\n" * 50,
    "src/cli/options/job_a.cc": '{.names = "one",\n {.names = "two,zwei",\nconst Option& kOne = Named(kRows, "one");\n',
    "src/cli/two.cc": "use(kOne);\n",
    "include/spate.h": "int D();\n",
}


class Lines(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="spate-lines-")
        self.addCleanup(place.cleanup)
        self.root = place.name
        for path, text in {**TREE, "tools/lines.txt": "# Counts.\n5 src/os\n4 src/cli\n1 include\n"}.items():
            self.write(path, text)

    def write(self, path, text, mode="w"):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)

    def lines(self, *options):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "tools/lines"), *options, self.root], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_passes_at_its_number(self):
        status, out = self.lines()
        self.assertEqual(status, 0, out)
        self.assertIn("10 all", out)
        self.assertIn("1.5 median of files that name an option of a job", out)  # kOne: 2 files, two: its row

    def test_fails_above_its_number(self):
        self.write("src/os/a.h", "int E();\n", "a")
        status, out = self.lines()
        self.assertEqual(status, 1)
        self.assertIn("src/os: 1 code lines more than tools/lines.txt allows", out)

    def test_a_folder_needs_a_number(self):
        self.write("src/link/l.cc", "int F() { return 2; }\n")
        status, out = self.lines()
        self.assertEqual(status, 1)
        self.assertIn("src/link: 1 code lines more", out)

    def test_passes_after_write(self):
        self.write("src/os/a.h", "int E();\n", "a")
        self.assertEqual(self.lines("--write")[0], 0)
        self.assertEqual(self.lines()[0], 0)


if __name__ == "__main__":
    unittest.main()
