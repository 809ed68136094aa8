#!/usr/bin/env python3
"""libspate_mw.a as users have it: installed, moved, found by pkg-config and by CMake, linked dynamic and static, beside libraries
and functions of the same names as those that are in it."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

SOURCE = os.path.abspath(os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.dirname(os.path.abspath(os.environ["SPATE_BIN"]))
ARCHIVE = os.path.join(BUILD, "lib", "libspate_mw.a")
COMPILER = os.environ.get("CXX", "g++")
with open(os.path.join(SOURCE, "VERSION"), encoding="utf-8") as version_file:
    VERSION = version_file.readline().strip()


class Run(NamedTuple):
    arguments: list
    output: list  # lines, each a regular expression
    status: int = 0
    slaves: int = 0  # beside the master


# Programs, and what they print. Each is built and run in all ways.
PROGRAMS = {
    "tests/install/master.cc": [
        Run(["--mw-master"], [re.escape(VERSION), "mw::error", "std::exception", "144"], 7),
        Run(["--mw-master", "throw"], [VERSION], 255),
        Run([], [VERSION], 1),
    ],
    "examples/mw/hello_world.cc": [
        Run(["--mw-master"], [f"Got result from slave: Hello World: Task {i}" for i in range(10)], slaves=1),
    ],
}

# The other examples, built in the two ways that the guide tells.
EXAMPLES = PROGRAMS | {
    "examples/mw/ping.cc": [Run(["--mw-master", "2000"], [r"2000 pings, \d+ tasks/s"], slaves=2)],
    "examples/mw/monte_carlo_pi.cc": [
        Run(["--mw-master", "--max-trial-sets", "4", "--trials", "10000"], [r"pi is about 3\.1\d+, by 40000 trials"], slaves=2),
    ],
    "examples/mw/higher_order.cc": [
        Run(["--mw-master"], [f"task {i + 1}: {1 + i} {4 + i} {9 + i}" for i in range(10)], slaves=1),
    ],
    "examples/mw/with_task_policy.cc": [Run(["--mw-master"], ["the sum is 49500"], slaves=2)],
    "examples/mw/argument_processing.cc": [
        Run(["--mw-master"], ["required: 3", "optional: 101", "keyword: 20", "renamed: 7", "rest: 10"], slaves=1),
    ],
    "examples/mw/search.cc": [Run(["--mw-master", "6"], [r"lowest at \(1\.0000, -1\.7500\): -0\.848834"], slaves=2)],
    "examples/mw/best_first.cc": [Run(["--mw-master"], [r"lowest at \(0\.95, -1\.80\): -0\.96"], slaves=2)],
    "examples/mw/first_of_many.cc": [Run(["--mw-master"], [r"1000036000099 = 1000003 \* 1000033"], slaves=2)],
    "examples/mw/nearest.cc": [Run(["--mw-master"], [r"nearest to \(0\.50, 0\.50\): \(0\.5001, 0\.4997\)"], slaves=2)],
    "examples/mw/unit_test.cc": [Run([], ["all tests passed"])],
}

# What may be visible: names in spate::mw::v1, with all that belongs to them.
PUBLIC = re.compile(r"_Z(T[A-Z]|T[hv][n0-9_]*|GV|Z)*NK?5spate2mw2v1")


def call(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, **more)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(words)} exits {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="spate-library.")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        call("cmake", "--install", BUILD, "--component", "library", "--prefix", cls.path("first"))
        os.rename(cls.path("first"), cls.path("moved"))  # no file may know where it was installed
        cls.libraries = next(root for root, _, files in os.walk(cls.path("moved")) if "libspate_mw.a" in files)

    @classmethod
    def path(cls, *parts):
        return os.path.join(cls.dir, *parts)

    def pkg_config(self, *words):
        where = {"PKG_CONFIG_PATH": os.path.join(self.libraries, "pkgconfig")}
        return shlex.split(call("pkg-config", *words, "spate-mw", env=os.environ | where))

    def build(self, source, *more, compiler=COMPILER, name="program"):
        call(compiler, "-std=c++20", "-Wall", os.path.join(SOURCE, source), *self.pkg_config("--cflags", "--libs"), *more,
             "-o", self.path(name))
        return self.path(name)

    def check(self, program, runs):
        for run in runs:
            with self.subTest(program=program, arguments=run.arguments), tempfile.TemporaryDirectory(dir=self.dir) as place:
                files = ["--mw-resource-file", "resources", "--mw-audit-file", "log"] if run.slaves else []
                slaves = [subprocess.Popen([program, "--mw-slave", *files[:2], "--mw-audit-file", f"log{number}"], cwd=place)
                          for number in range(run.slaves)]
                try:
                    done = subprocess.run([program, *run.arguments, *files], capture_output=True, text=True, timeout=60, cwd=place)
                    self.assertRegex(done.stdout, r"\A" + "".join(line + r"\n" for line in run.output) + r"\Z", done.stderr)
                    self.assertEqual(done.returncode, run.status, done.stderr)
                    self.assertEqual([slave.wait(60) for slave in slaves], [0] * run.slaves)
                finally:
                    for slave in slaves:
                        slave.kill()
                        slave.wait()

    def test_nothing_else_is_visible(self):
        names = [line.split()[-1] for line in call("nm", "-g", "--defined-only", ARCHIVE).splitlines() if len(line.split()) == 3]
        self.assertEqual([name for name in names if not PUBLIC.match(name)], [])
        self.assertIn("_ZN5spate2mw2v17versionB5cxx11Ev", names)
        sections = call("readelf", "-SW", ARCHIVE)
        self.assertNotIn(".debug_", sections)
        self.assertNotRegex(sections, r"\bGROUP\b")

    def test_it_loads_nothing(self):
        self.assertNotIn("dlopen", call("nm", "-u", ARCHIVE).split())

    def test_make_installs_it_alone(self):
        clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
        call("make", "-C", SOURCE, "install-library", f"BUILD={BUILD}", "PREFIX=/opt/here", f"DESTDIR={self.path('made')}", env=clean)
        found = [os.path.relpath(os.path.join(root, name), self.path("made", "opt", "here"))
                 for root, _, names in os.walk(self.path("made")) for name in names]
        self.assertIn("include/spate/mw.h", found)
        self.assertEqual([name for name in found if "mw" not in name and name != "include/spate/bytes.h"], [])

    def test_pkg_config(self):
        self.assertEqual(self.pkg_config("--modversion"), [VERSION])
        for source, runs in EXAMPLES.items():
            self.check(self.build(source), runs)

    def test_static(self):
        for source, runs in PROGRAMS.items():
            self.check(self.build(source, "-static"), runs)

    def test_shared_libraries_travel(self):
        """The resource file names those that are not the system's."""
        with open(self.path("own.cc"), "w", encoding="utf-8") as out:
            out.write("int Own() { return 1; }\n")
        with open(self.path("uses.cc"), "w", encoding="utf-8") as out:
            out.write('#include <spate/mw.h>\nint Own();\nint main(int argc, char** argv) {\n'
                      '  return spate::mw::run(argc, argv, [](spate::mw::master&) { return Own() - 1; });\n}\n')
        library = os.path.realpath(self.path("libown.so"))
        call(COMPILER, "-shared", "-fPIC", self.path("own.cc"), "-o", library)
        program = self.build(self.path("uses.cc"), library, f"-Wl,-rpath,{self.dir}", name="uses")
        call(program, "--mw-master", "--mw-master-host", "127.0.0.1", "--mw-resource-file", self.path("uses.rsc"))
        with open(self.path("uses.rsc"), encoding="utf-8") as file:
            self.assertIn(f'(:slave-executable ("{os.path.realpath(program)}" ("{library}")))', file.read())

    def test_plain_words(self):
        for source, runs in PROGRAMS.items():
            call(COMPILER, "-std=c++20", "-I", self.path("moved", "include"), os.path.join(SOURCE, source),
                 "-L", self.libraries, "-lspate_mw", "-o", self.path("plain"))
            self.check(self.path("plain"), runs)

    def test_clang(self):
        clang = shutil.which("clang++-19") or shutil.which("clang++")
        if not clang:
            self.skipTest("no clang++ here")
        for source, runs in PROGRAMS.items():
            self.check(self.build(source, compiler=clang), runs)

    def test_all_examples_are_in_the_language_we_ask_for(self):
        for compiler in filter(None, (COMPILER, shutil.which("clang++-19"))):
            for example in sorted(os.listdir(os.path.join(SOURCE, "examples", "mw"))):
                self.build(f"examples/mw/{example}", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                           "-Wno-unused-command-line-argument", compiler=compiler)

    def test_a_number_that_loses_its_fraction_does_not_compile(self):
        with open(self.path("narrow.cc"), "w", encoding="utf-8") as out:
            out.write('#include <spate/mw.h>\nconst auto f = spate::mw::algorithm<"f">([](int x) { return x; });\n'
                      'void Submit(spate::mw::master& m) { m.submit(f, NUMBER); }\n')

        def compiled(number):
            words = [COMPILER, "-std=c++20", "-fsyntax-only", f"-DNUMBER={number}", *self.pkg_config("--cflags"), self.path("narrow.cc")]
            return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(compiled("1u").returncode, 0)
        refused = compiled("1.5")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("the argument is floating-point, but the algorithm takes an integer", refused.stderr)

    def test_cmake(self):
        os.mkdir(self.path("project"))
        lines = ["cmake_minimum_required(VERSION 3.16)", "project(user CXX)",
                 f"find_package(spate-mw {VERSION} REQUIRED)"]
        programs = {}
        for number, source in enumerate(EXAMPLES):
            programs[source] = self.path("project", "made", f"program{number}")
            lines += [f"add_executable(program{number} {os.path.join(SOURCE, source)})",
                      f"target_link_libraries(program{number} spate::mw)"]
        with open(self.path("project", "CMakeLists.txt"), "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        call("cmake", "-S", self.path("project"), "-B", self.path("project", "made"), f"-DCMAKE_CXX_COMPILER={COMPILER}",
             f"-DCMAKE_PREFIX_PATH={self.path('moved')}")
        call("cmake", "--build", self.path("project", "made"))
        for source, runs in EXAMPLES.items():
            self.check(programs[source], runs)

    def test_beside_others_of_the_same_names(self):
        runs = [Run(["--mw-master"], ["11", "1 0 1"])]
        source = "tests/install/neighbours.cc"
        self.check(self.build(source, "-lsqlite3", "-lcrypto", name="beside"), runs)
        self.check(self.build(source, "-static", "-lsqlite3", "-lcrypto", name="beside"), runs)


if __name__ == "__main__":
    if not os.path.exists(ARCHIVE):
        print(f"skipped: there is no {ARCHIVE}")
        sys.exit(77)
    unittest.main()
