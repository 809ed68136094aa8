"""The picture of README, as it lies in docs/ and made anew: well formed, and its text shows a run
that is killed, goes on with what is left, and ends whole."""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
BUILD = os.path.dirname(os.path.abspath(os.environ.get("SPATE_BIN", os.path.join(SOURCE, "build", "bin"))))
STORY = re.compile(r"""\$\ spate\ run\ -j\ 4\ jobs\.lst\n
\ +\d+%\ (?P<shown>\d+)/(?P<all>\d+)\ .*running.*\n
2\..*\n
.*Killed\n
\$\ spate\ run\ -j\ 4\ --resume\ jobs\.lst\n
spate:\ resuming\ job\ 1:\ (?P<before>\d+)\ of\ (?P=all)\ tasks\ done\n
\ +\d+%\ .*running.*\n
3\..*\n
spate:\ resuming\ job\ 1.*\n
spate:\ (?P=all)\ tasks:\ (?P=all)\ succeeded;\ this\ run:\ (?P<after>\d+)\ in\ .*\n
\$\ ls\ .*\n
(?P=all)\Z""", re.VERBOSE)


def check(path):
    picture = xml.parse(path).getroot()
    text = "\n".join(element.text for element in picture.iter("{http://www.w3.org/2000/svg}text"))
    story = STORY.search(text)
    if not story:
        sys.exit(f"{path} does not tell of a run that is killed and goes on:\n{text}")
    every, shown, before, after = (int(story[name]) for name in ("all", "shown", "before", "after"))
    if not 0 < shown <= before < every or before + after != every:
        sys.exit(f"{path}: {shown} done were shown, {before} kept, {after} ran after, of {every}")


check(os.path.join(SOURCE, "docs/pictures/kill-and-resume.svg"))
with tempfile.TemporaryDirectory() as folder:
    made = os.path.join(folder, "picture.svg")
    subprocess.run([os.path.join(SOURCE, "tools/picture"), BUILD, made], check=True)
    check(made)
