#!/usr/bin/env python3
"""tools/arrows on small made-up trees: what it must say, and what it must let pass."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEADER = "#pragma once\n"

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("arrows", os.path.join(SOURCE, "tools", "arrows"))
arrows = importlib.util.module_from_spec(importlib.util.spec_from_loader("arrows", loader))
loader.exec_module(arrows)


def check(files):
    """Runs tools/arrows over a tree of these files; returns (exit status, output)."""
    with tempfile.TemporaryDirectory(prefix="spate-arrows-") as root:
        for path, text in files.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = arrows.main([root])
        return status, out.getvalue()


class Arrows(unittest.TestCase):
    def refused(self, files, *says):
        status, out = check(files)
        self.assertEqual(status, 1, out)
        for text in says:
            self.assertIn(text, out)

    def passes(self, files):
        status, out = check(files)
        self.assertEqual(status, 0, out)

    def test_includes(self):
        tree = {"src/base/b.h": HEADER, "src/os/os.h": HEADER, "src/core/model/m.h": HEADER, "src/core/engine/e.h": HEADER,
                "src/store/store.h": HEADER, "src/store/sqlite/s.h": HEADER, "src/store/postgres/p.h": HEADER,
                "src/format/joblist/j.h": HEADER, "src/format/dag/d.h": HEADER, "src/command/job/c.h": HEADER, "src/cli/io.h": HEADER,
                "src/transport/t.h": HEADER, "src/transport/tcp/c.h": HEADER}
        table = [
            ("core/engine", "base/b.h", True), ("core/engine", "core/model/m.h", True), ("core/engine", "os/os.h", False),
            ("core/model", "core/engine/e.h", False), ("core/agent", "core/engine/e.h", False), ("base", "core/model/m.h", False),
            ("store/sqlite", "store/store.h", True), ("store/sqlite", "core/engine/e.h", True),
            ("store/sqlite", "store/postgres/p.h", False), ("store", "store/sqlite/s.h", False),
            ("format/joblist", "core/model/m.h", True), ("format/joblist", "format/dag/d.h", False),
            ("cli", "format/joblist/j.h", True), ("command/job", "cli/io.h", True), ("cli", "command/job/c.h", False),
            ("hub", "transport/t.h", True), ("hub", "transport/tcp/c.h", False), ("daemon", "transport/tcp/c.h", True), ("apps", "hub/h.h", False),
            ("unheard_of", "base/b.h", False),
        ]
        for folder, header, ok in table:
            with self.subTest(folder=folder, header=header):
                files = {**tree, f"src/{folder}/x.cc": f'#include "{header}"\n'}
                self.passes(files) if ok else self.refused(files, f"src/{folder}/x.cc:1:")

    def test_headers(self):
        table = [
            ("src/os/x.cc", "<sys/epoll.h>", True), ("src/shepherd/x.cc", "<signal.h>", True), ("src/hub/x.cc", "<unistd.h>", False),
            ("src/hub/x_test.cc", "<unistd.h>", True), ("src/core/engine/x_test.cc", "<unistd.h>", False),
            ("src/core/engine/x.cc", "<thread>", False), ("src/core/engine/x.cc", "<fstream>", False), ("src/hub/x.cc", "<thread>", True),
            ("src/store/x.cc", "<sqlite3.h>", True), ("src/cli/x.cc", "<sqlite3.h>", False), ("src/cli/x.cc", "<CLI/CLI.hpp>", True),
            ("src/hub/x.cc", "<CLI/CLI.hpp>", False), ("include/spate/x.h", "<vector>", True), ("include/spate/x.h", "<unistd.h>", False),
        ]
        for path, header, ok in table:
            with self.subTest(path=path, header=header):
                files = {path: f"{HEADER if path.endswith('.h') else ''}#include {header}\n"}
                self.passes(files) if ok else self.refused(files, path)

    def test_names(self):
        table = [
            ("src/core/engine/x.cc", "auto t = std::chrono::steady_clock::now();", False),
            ("src/os/x.cc", "auto t = std::chrono::steady_clock::now();", True),
            ("src/core/engine/x.cc", "int r = rand();", False), ("src/core/engine/x.cc", "int r = prng.rand();", True),
            ("src/core/engine/x.cc", "// rand() and steady_clock are banned here", True),
            ("src/core/engine/x.cc", 'const char* s = "rand()";', True),
            ("src/hub/x.cc", 'auto* v = getenv("HOME");', False), ("src/os/x.cc", 'auto* v = getenv("HOME");', True),
            ("src/hub/x_test.cc", "std::this_thread::sleep_for(1s);", False), ("src/store/x.cc", "throw 1;", False),
            ("src/core/model/x.cc", 'printf("x");', False), ("src/core/model/x.cc", 'fmt::format("x");', True),
            ("src/hub/x.cc", "// FIX" "ME: later", False), ("src/hub/x.cc", "using namespace std;", False),
            ("src/hub/x.cc", "using namespace std::literals;", True),
        ]
        for path, line, ok in table:
            with self.subTest(path=path, line=line):
                self.passes({path: line + "\n"}) if ok else self.refused({path: line + "\n"}, path)

    def test_wording(self):
        table = [
            ("src/os/x.cc", "// Whoever reads this waits.", False), ("src/os/x.cc", "  // What it found.", False),
            ("src/os/x.cc", "// The reader waits, whoever it is.", True), ("src/os/x.cc", "// What if it is closed? It waits.", True),
            ("src/os/x.cc", "// Whatever it found.", True), ("src/os/x.cc", 'Say("// What it found");', True),
            ("src/core/engine/x.cc", "// Where it ends.", False), ("src/core/engine/x_test.cc", "// Of one job.", False),
            ("src/os/x.cc", "// It waits, lest it starve.", False), ("src/os/x.cc", "// The least of them; wholesale.", True),
            ("src/command/x.cc", '.help = "of ssh: the hosts"', False), ("src/command/x.cc", '.help =\n    "so has one in error"', False),
            ("src/command/x.cc", '.help = "order of starts"', True), ("src/command/x.cc", '.more = "of ssh: the hosts"', True),
        ]
        for path, text, ok in table:
            with self.subTest(path=path, text=text):
                self.passes({path: text + "\n"}) if ok else self.refused({path: text + "\n"}, path, "reads badly")
        self.refused({"src/os/x.cc": ";\n\n// Who reads this waits.\n"}, "src/os/x.cc:3:")

    def test_sizes(self):
        self.passes({"src/base/x.cc": "x" * 100 + "\n"})
        self.refused({"src/base/x.cc": "x" * 101 + "\n"}, "101 columns")
        self.passes({"src/base/x.cc": ";\n" * 800})
        self.refused({"src/base/x.cc": ";\n" * 801}, "801 lines")
        self.refused({"src/base/x.h": "int x;\n"}, "#pragma once")

    def test_markdown(self):
        table = [("x" * 120, True), ("x" * 121, False), ("| " + "x" * 121 + " |", True), ("see https://" + "x" * 121, True)]
        for line, ok in table:
            for path in ("README.md", "docs/user/x.md"):
                with self.subTest(path=path, line=line):
                    self.passes({path: line + "\n"}) if ok else self.refused({path: line + "\n"}, path + ":1: 121 columns")
        self.passes({"build/x.md": "x" * 121 + "\n", "build-asan/x.md": "x" * 121 + "\n", "docs/x.txt": "x" * 121 + "\n"})

    def test_functions(self):
        def body(lines):
            return "{\n" + "  a();\n" * (lines - 2) + "}\n"
        wrapped = ["void F() %s", "namespace spate {\nvoid F() %s}\n", "class C {\n void F() const %s};\n",
                   "auto F(int a,\n       int b) -> int %s", "namespace {\nC::C(int a) : a_{a}, b_(2) %s}\n"]
        for text in wrapped:
            with self.subTest(text=text):
                extra = text.count("\n       ")
                self.passes({"src/base/x.cc": text % body(70 - extra)})
                self.refused({"src/base/x.cc": text % body(71)}, "function of")
        self.passes({"src/base/x_test.cc": "TEST(A, B) " + body(120)})
        self.refused({"src/base/x_test.cc": "TEST(A, B) " + body(121)}, "function of")
        self.passes({"src/base/x.cc": "const int kTable[] = {\n" + "  1,\n" * 90 + "};\n"})

    def test_interfaces(self):
        def interface(name, functions, bases=""):
            lines = "".join(f"  virtual void {name}{i}() = 0;\n" for i in range(functions))
            return f"class {name}{bases} {{\n public:\n{lines}  int zero_ = 0;\n}};\n"
        parts = interface("A", 4) + interface("B", 2)
        for text, says in [
            (interface("A", 6), None),
            (interface("A", 7), "A has 7 virtual functions (at most 6)"),
            (parts + "class Both : public A, public B {\n};\n", None),
            (parts + interface("C", 1, " : public A, private x::B"), "C has 7 virtual functions, 6 of them inherited"),
            (parts + interface("C", 3) + "struct All : A, B, C {\n};\n", "All has 9 virtual functions, 9 of them inherited"),
            # Whoever implements is no interface.
            (parts + interface("C", 3) + "struct Real : A, B, C {\n  void A0() override;\n};\n", None),
        ]:
            with self.subTest(text=text):
                files = {"src/os/x.h": HEADER + text}
                self.refused(files, says) if says else self.passes(files)
        # Also where the bases are in other files; of two with one name the nearest counts.
        files = {"src/os/a.h": HEADER + parts, "src/base/a.h": HEADER + interface("A", 1),
                 "src/base/c.h": HEADER + interface("C", 5, " : public A"), "src/os/c.h": HEADER + interface("D", 5, " : public A")}
        status, out = check(files)
        self.assertEqual(status, 1)
        self.assertIn("D has 9 virtual functions, 4 of them inherited", out)
        self.assertNotIn("C has", out)

    def test_declared(self):
        base = {"src/base/b.h": HEADER, "src/base/CMakeLists.txt": "spate_library(base)\n",
                "src/os/CMakeLists.txt": "spate_library(os SOURCES o.cc DEPS base)\n",
                "src/wire/w.cc": '#include "base/b.h"\n'}
        self.passes({**base, "src/wire/CMakeLists.txt": "spate_library(wire SOURCES w.cc DEPS base)\n"})
        self.passes({**base, "src/wire/CMakeLists.txt": "spate_library(wire)\nspate_app(w SOURCES w.cc DEPS base wire)\n"})
        self.refused({**base, "src/wire/CMakeLists.txt": "spate_library(wire SOURCES w.cc)\n"}, "does not name in DEPS")
        self.refused({**base, "src/wire/CMakeLists.txt": "spate_library(wire SOURCES w.cc\n  DEPS base os)\n"},
                     "wire may not depend on os")

    def test_folders(self):
        cmake = {"src/base/CMakeLists.txt": "spate_library(base)\n", "src/os/CMakeLists.txt": "spate_library(os DEPS base)\n"}
        self.passes(cmake)
        self.refused({"src/base/new/CMakeLists.txt": "spate_library(new)\n"}, "src/base/new has no line in FOLDERS")
        place = "# A\n" + arrows.TABLE_BEGIN + "%s" + arrows.TABLE_END + "the rest\n"
        known = dict(arrows.FOLDERS)
        arrows.FOLDERS.clear()
        arrows.FOLDERS.update(base="the base", os="the system", gone="what was")
        try:
            self.refused({**cmake, arrows.ARCHITECTURE: place % ""}, "src/gone, which does not exist", "run tools/arrows --write-docs")
            del arrows.FOLDERS["gone"]
            table = ("| folder | what it is | it may include |\n|---|---|---|\n"
                     "| `base` | the base | nothing of ours |\n| `os` | the system | `base` |\n")
            self.passes({**cmake, arrows.ARCHITECTURE: place % table})
            for other in ("", table.replace("the base", "a base"), table.replace("`base` |\n", "`base`, `os` |\n")):
                self.refused({**cmake, arrows.ARCHITECTURE: place % other}, "run tools/arrows --write-docs")
            self.refused({**cmake, arrows.ARCHITECTURE: "# A\n"}, "run tools/arrows --write-docs")
            with tempfile.TemporaryDirectory(prefix="spate-arrows-") as root:
                for path, text in {**cmake, arrows.ARCHITECTURE: place % "old\n"}.items():
                    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                    with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                        f.write(text)
                self.assertEqual(arrows.main(["--write-docs", root]), 0)
                with open(os.path.join(root, arrows.ARCHITECTURE), encoding="utf-8") as f:
                    self.assertEqual(f.read(), place % table)
        finally:
            arrows.FOLDERS.clear()
            arrows.FOLDERS.update(known)


if __name__ == "__main__":
    unittest.main()
