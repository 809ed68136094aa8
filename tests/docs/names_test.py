"""GLOSSARY.md, ARCHITECTURE.md and HACKING.md name only what there is: each path and each name of the code
that stands in `backticks`, and each path in their pictures, is found in the sources. Each row of SECURITY.md's table of
threats names a test, and each test that the page names is one of the build. And json.md has each type of JSON that the
code prints, and no other.

A path is looked for from the root, from src/, from docs/, and from anywhere below src/ when it is a
file's name alone; `.h` and `.cc` may be left out. NAME and the like stand for any name.
"""
import glob
import os
import re
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", ".."))
DOCUMENTS = ["docs/GLOSSARY.md", "docs/ARCHITECTURE.md", "docs/HACKING.md"]
MADE = ("build/", "build-", "dist/", "STATE/", "FOLDER/")  # not in the sources
SUFFIXES = ("", ".h", ".cc", ".py", ".md")
ANY = r"NAME|NOUN|VERB|FOLDER"


def files():
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.splitlines() if os.path.exists(os.path.join(SOURCE, name))]
    return [os.path.relpath(os.path.join(folder, name), SOURCE)  # a source archive
            for folder, _, names in os.walk(SOURCE) for name in names if "/build" not in folder]


def words_of_the_code(names):
    words = set()
    for name in names:
        if name.endswith((".h", ".cc", ".cmake", "CMakeLists.txt")):
            with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
                words.update(re.findall(r"\w+", file.read()))
    return words


def variants(path):
    """a/b.{h,cc} -> a/b.h, a/b.cc"""
    found = re.search(r"\{([^}]*)\}", path)
    if not found:
        return [path]
    return [one for part in found[1].split(",") for one in variants(path[:found.start()] + part + path[found.end():])]


def exists(path, basenames):
    path = path.rstrip("/")
    pattern = re.sub(ANY, "*", path)
    if "/" not in path and path in basenames:
        return True
    places = ("", "src/", "docs/", "src/doors/parasol/", "src/core/engine/", "src/**/")
    return any(glob.glob(os.path.join(SOURCE, place + pattern + suffix), recursive=True)
               for place in places[:None if "/" not in path else -1] for suffix in SUFFIXES)


def is_path(word):
    return re.fullmatch(r"[\w.][\w./{},*-]*", word) and (
        "/" in word or re.search(r"\.(h|cc|\{h,cc\}|py|md|cmake|txt)$", word)) and not word.startswith(MADE)


def is_name(word):
    return re.fullmatch(r"(\w+::)*[A-Z]\w*[a-z]\w*(\(\))?|k[A-Z]\w*|\w+::\w+", word)


def mistakes(document, basenames, code):
    with open(os.path.join(SOURCE, document), encoding="utf-8") as file:
        lines = file.read().splitlines()
    picture = False
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            picture = line == "```" and not picture
            continue
        spans = re.findall(r"\bsrc/[\w./]*\w", line) if picture else re.findall(r"`([^`]+)`", line)
        spans = [span for span in spans if " -" not in span]  # command lines
        for word in (part.rstrip(".,:;") for span in spans for part in span.split()):
            if is_path(word):
                if not all(exists(path, basenames) for path in variants(word)):
                    yield number, word, "no such file or folder"
            elif is_name(word):
                missing = [part for part in re.findall(r"\w+", word) if part not in code and not re.search(ANY, part)]
                if missing:
                    yield number, word, "no such name in the code"


def tests_of_the_build(names):
    found = set()
    for name in names:
        if os.path.basename(name) == "CMakeLists.txt":
            with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
                found.update(re.findall(r"^ *spate_(?:script_)?test\((\w+)", file.read(), re.M))
    return found


def tests_that_are_missing(document, tests):
    """Names of tests that do not exist, and rows of the table of threats that name none."""
    threats = 0
    with open(os.path.join(SOURCE, document), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            named = re.findall(r"`(\w+_(?:test|e2e))`", line)
            yield from ((number, word, "no such test") for word in named if word not in tests)
            if line.startswith("| threat |"):
                threats = number
            elif not line.startswith("|"):
                threats = 0
            elif threats and number > threats + 1 and not re.search(r"`\w+_(?:test|e2e)`", line.rsplit("|", 2)[1]):
                yield number, line.split("|")[1].strip(), "names no test that would fail"


def types_of_json(names):
    """(type, why) of each that is in the code or in the documents alone."""
    printed, told = set(), set()
    for name in names:
        if name.startswith("src/") and name.endswith((".h", ".cc")) and not re.search("_test|testing_", name):
            with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
                printed.update(re.findall(r'(?:TypedLine|TaskLine|JsonOf)\(\s*"(\w+)"', file.read()))
    for name in ("json.md", "json-lines.md"):
        with open(os.path.join(SOURCE, "docs/formats", name), encoding="utf-8") as file:
            text = file.read()
            told.update(re.findall(r"^###? `(\w+)`", text, re.M))
            told.update(re.findall(r"^\| `(\w+)`", text.partition("\n## Rare ones\n")[2].partition("\n## ")[0], re.M))
    return [(name, "is printed, and not documented") for name in sorted(printed - told)] + [
        (name, "is documented, and nothing prints it") for name in sorted(told - printed)]


def main():
    names = files()
    basenames = {os.path.basename(name) for name in names}
    code = words_of_the_code(names)
    found = [(document, *each) for document in DOCUMENTS for each in mistakes(document, basenames, code)]
    found += [("docs/SECURITY.md", *each) for each in tests_that_are_missing("docs/SECURITY.md", tests_of_the_build(names))]
    for document, number, word, why in found:
        print(f"{document}:{number}: `{word}`: {why}")
    undocumented = types_of_json(names)
    for name, why in undocumented:
        print(f"docs/formats/json.md: `{name}`: {why}")
    found += undocumented
    if len(code) < 1000:
        sys.exit("the sources were not found")
    sys.exit(1 if found else 0)


main()
