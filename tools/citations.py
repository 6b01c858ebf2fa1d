#!/usr/bin/env python3
"""Every citation resolves: what a comment or a page refers to is in this repository.

Looked at: comments of C, Python and meson files, and all pages.

    docs/run.md, run.md         the file is there (from the root, beside the file, or in docs/)
    src/sched/gang/gang.c            so is this one; a name with '*', '…', '<' or CAPITALS is a pattern and left alone
    run.md 4.2                  refused: our pages have no numbers; the sentence says its rule itself
    B12, D7                     a row of docs/job-defects.md, docs/sched-defects.md
    V12                         refused: there is no such list

Of docs/design also names in code:

    `holds_settle()`, `is_tame`  a word of some source file; `gang.c` and `program/run/progress` are files below src, bench, tests or tools
"""
import glob
import os
import re
import sys

NUMBERED = {"B": "docs/job-defects.md", "D": "docs/sched-defects.md"}
ROOTS = ("src", "tests", "docs", "bench", "fuzz", "tools", "examples", "packaging")
PAGE = re.compile(r"(?<![\w/.:-])((?:[\w-]+/)*[\w-]+\.md)(\s+(?:section\s+)?\d[\d.]*)?")
PLACE = re.compile(r"(?<![\w/.<>:-])((?:%s)/[\w./-]*\w/?)(?![\w*…<{/])" % "|".join(ROOTS))
NAME = re.compile(r"`(?:\w+\.)*([a-z]\w*)\(\)`|`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`")
CODE = re.compile(r"(?<![\w/.])((?:[\w-]+/)*[\w-]+\.(?:c|h|py))(?![\w/])|(?<![\w/.`])((?:cli|report|server|sched|driver|node|api)/(?:\w+/)*\w+)(?![\w/.*])")
NOT_OURS = {"epoll_ctl_old", "epoll_wait_old", "map_files", "no_new_privs"}  # the kernel's
NUMBER = re.compile(r"(?<![\w$.%'\"/\\-])([BDV])(\d{1,2})\b(?![\w'\"])")


def comments(path, text):
    """(line number, words) of everything in 'text' that is for people."""
    if path.endswith(".md"):
        yield from enumerate(re.sub(r"```.*?```", lambda m: "\n" * m[0].count("\n"), text, flags=re.S).split("\n"), 1)
    elif path.endswith((".c", ".h")):
        blank = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
        for m in blank.finditer(text):
            if m[0][0] == "/":
                yield from enumerate(m[0].split("\n"), text.count("\n", 0, m.start()) + 1)
    else:
        for i, line in enumerate(text.split("\n"), 1):
            m = re.search(r"(?:^|\s)#\s(.*)", line)
            if m:
                yield i, m[1]


def rows(page):
    with open(page) as f:
        return set(re.findall(r"^\| ([BD]\d+) \|", f.read(), re.M))


def is_there(path, name):
    places = (name, os.path.join("docs", name), os.path.join(os.path.dirname(path), name))
    return any(os.path.exists(p) for p in places) or os.path.exists(os.path.join("src", name))


def problems_of(path, words, known):
    for name, number in PAGE.findall(words):
        if not is_there(path, name):
            yield f"there is no {name}"
        elif number:
            yield f"{name} has no numbered sections: say the rule, or name the heading"
    for name in PLACE.findall(words):
        if not name.endswith(".md") and not re.search(r"/[A-Z]+(/|$)", name) and not is_there(path, name) and not glob.glob(name + "*"):
            yield f"there is no {name}"
    for letter, number in NUMBER.findall(words):
        if letter + number not in known:
            yield f"{letter}{number} is not a row of {NUMBERED.get(letter, 'any page')}"
    if "§" in words:
        yield "§ of what? Say the rule, or name the heading"


def sources():
    """All words of the sources, and the paths of their files, with and without what is behind the dot."""
    words, paths = set(), set()
    for d in ("src", "bench", "tests", "tools", "fuzz"):
        for path in glob.glob(f"{d}/**/*", recursive=True):
            paths |= {path, os.path.splitext(path)[0]}
            if path.endswith((".c", ".h", ".js", ".py", ".build")):
                with open(path, errors="replace") as f:
                    words |= set(re.findall(r"\w+", f.read()))
    return words, paths


def stale_names(text, words, paths):
    """(line number, what is gone) of a design page, drawings too."""
    for i, line in enumerate(text.split("\n"), 1):
        for name in (a or b for a, b in NAME.findall(line)):
            if name not in words and name not in NOT_OURS:
                yield i, f"no source has the name {name}"
        for name in (a or b for a, b in CODE.findall(line)):
            if not any(p == name or p.endswith("/" + name) for p in paths):
                yield i, f"there is no {name}"


def main():
    words, paths = sources()
    known = set().union(*(rows(page) for page in NUMBERED.values()))
    files = ["README.md", "CONTRIBUTING.md", *glob.glob("**/meson.build", recursive=True)]
    for d in ROOTS:
        for kind in ("c", "h", "py", "md"):
            files += glob.glob(f"{d}/**/*.{kind}", recursive=True)
    bad = 0
    for path in sorted(set(f for f in files if not f.startswith(("build", "b-")))):
        with open(path) as f:
            text = f.read()
        found = [(line, problem) for line, told in comments(path, text) for problem in problems_of(path, told, known)]
        if path.startswith("docs/design/"):
            found += stale_names(text, words, paths)
        for line, problem in found:
            print(f"{path}:{line}: {problem}")
        bad += len(found)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
