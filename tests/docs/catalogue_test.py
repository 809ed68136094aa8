"""The documents hang together: each link leads to a file, and to a heading in it; docs/README.md lists every page;
docs/design/README.md has a row for each note, with its title and a state."""
import glob
import os
import re
import sys

SOURCE = os.path.abspath(os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", ".."))
PLACES = ("*.md", "docs/**/*.md")
STATE = re.compile(r"current|partly: .+|superseded by \[\d{3}\]\(.+\)")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def documents():
    return sorted(os.path.relpath(path, SOURCE) for place in PLACES
                  for path in glob.glob(os.path.join(SOURCE, place), recursive=True))


def links(path):
    """(file, heading or "") of each link within the clone. Samples are not looked at."""
    prose = re.sub(r"^ *```.*?^ *```$", "", read(path), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:", target):
            name, _, heading = target.partition("#")
            yield os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path, heading


def headings(path):
    """As GitHub names them."""
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", read(path), re.M)}


def wrong_links(path):
    for target, heading in links(path):
        if not os.path.exists(os.path.join(SOURCE, target)):
            yield f"{path}: a link to {target}, which does not exist"
        elif heading and heading not in headings(target):
            yield f"{path}: a link to {target}#{heading}, which has no such heading"


def missing_pages():
    listed = {target for target, _ in links("docs/README.md")}
    for path in documents():
        if path.startswith("docs/") and not path.startswith("docs/design/0") and path != "docs/README.md" and path not in listed:
            yield f"docs/README.md: {path} is not listed"


def wrong_notes():
    index = read("docs/design/README.md")
    for path in glob.glob(os.path.join(SOURCE, "docs/design/[0-9]*.md")):
        name = os.path.basename(path)
        title = read(path).split("\n", 1)[0]
        if not title.startswith(f"# {name[:3]}: "):
            yield f"docs/design/{name}: the title does not begin with its number, as in `# 001: ...`"
        rows = re.findall(rf"^\| \[{name[:3]}\]\({re.escape(name)}\) (.+?) \| .+ \| (.+) \|$", index, re.M)
        if len(rows) != 1:
            yield f"docs/design/README.md: {len(rows)} rows for {name}"
        elif not title[len("# 001: "):].startswith(rows[0][0]):
            yield f"docs/design/README.md: {name} is called {rows[0][0]!r}, its title is {title!r}"
        elif not STATE.fullmatch(rows[0][1]):
            yield f"docs/design/README.md: {name} has the state {rows[0][1]!r}; it is current, partly: WHAT, or superseded by N"


def main():
    found = [each for path in documents() for each in wrong_links(path)] + list(missing_pages()) + list(wrong_notes())
    for each in found:
        print(each)
    if len(documents()) < 50:
        sys.exit("the documents were not found")
    sys.exit(1 if found else 0)


main()
