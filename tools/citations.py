#!/usr/bin/env python3
"""Checks that every citation resolves: comments and pages refer only to things that are in this repository.

It reads comments of C, Python and meson files, and all pages.

    docs/run.md, run.md         the file exists (from the root, beside the file, or in docs/)
    src/sched/gang/gang.c       this one too; a name with '*', '…', '<' or CAPITALS is a pattern and not checked
    run.md 4.2                  refused: pages have no section numbers; write the rule, or name the heading
    B12, D7                     a row of docs/job-defects.md, docs/sched-defects.md
    V12                         refused: there is no such list

In pages also:

    `holds_settle()`, `is_tame`  a word of some source file; `gang.c` and `program/run/progress` are files below src, bench, tests or tools
    sched/share                  a test, or a directory of sources
    056, b26                     in the last cell of a row about a defect: a test test_056_... or test_b26_...
    `pumice server`              a command
    --restricted                 an option of a program here, or of OPTIONS_OF_OTHERS
    run.md#output, #output       a heading of that page
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
TEST_NUMBER = re.compile(r"\b(?:(\d{3})|(b\d\d))\b")
COMMAND = re.compile(r"(?:^|[`$|(;] ?)pumice ((?:[a-z][a-z-]+ ?){1,2})", re.M)
OPTION = re.compile(r"(?<![\w/-])--([a-z][a-z0-9-]*[a-z0-9])(?![a-z0-9-])")
ANCHOR = re.compile(r"\]\(([\w./-]*)#([\w-]+)\)")
NOT_OURS = {"epoll_ctl_old", "epoll_wait_old", "map_files", "no_new_privs",  # the kernel's
            "open_session_duration_milliseconds", "plugin_scheduling_latency_milliseconds", "action_scheduling_latency_milliseconds",  # Volcano's
            "scheduling_stage_duration_milliseconds", "job_share", "e2e_job_scheduling_duration", "e2e_job_scheduling_start_time",
            "e2e_job_scheduling_last_time", "namespace_share", "namespace_weight", "namespace_weighted_share"}
OPTIONS_OF_OTHERS = {"add-subgids", "add-subuids", "applyset", "as-group", "create-namespace", "flatten", "host-discovery-script",
                     "ignore-not-found", "kubelet-certificate-authority", "map-auto", "map-root-user", "minify", "prune-allowlist", "set-file",
                     "set-string"}  # usermod, kubectl, helm, horovodrun, kube-apiserver, unshare
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


def tests():
    """Names of tests as `tools/test` takes them: "sched/share" is src/sched/test/share.c."""
    names = {f"{path.split('/')[1]}/{os.path.basename(path)[:-2]}" for path in glob.glob("src/**/test/*.c", recursive=True)}
    for path in glob.glob("**/meson.build", recursive=True):
        with open(path) as f:
            names |= set(re.findall(r"test\('([\w/]+)'", f.read()))
    return names


def options_and_commands():
    """Options that some program here takes, and the commands of pumice."""
    options, commands = set(OPTIONS_OF_OTHERS), {"manual"}
    for d in ("src", "bench", "tests", "tools", "fuzz"):
        for path in glob.glob(f"{d}/**/*", recursive=True):
            if os.path.isfile(path) and not path.endswith((".md", ".tar", ".png", ".gz")):
                with open(path, errors="replace") as f:
                    text = f.read()
                options |= set(re.findall(r"--([a-z][a-z0-9-]+)", text)) | set(re.findall(r"[\"']([a-z][a-z0-9-]+)=?[\"']", text))
                commands |= {name.split()[0] for name in re.findall(r"struct command command_\w+ = (?:\{\s*\.name = |GROUP\()\"([^\"]+)\"", text)}
    return options, commands


def stale_names(text, known):
    """(line number, what is gone) of the code, tests and files that a page names."""
    has_tests = False
    for i, line in enumerate(text.split("\n"), 1):
        for name in (a or b for a, b in NAME.findall(line)):
            if name not in known.words and name not in NOT_OURS:
                yield i, f"no source has the name {name}"
        for name in (a or b for a, b in CODE.findall(line)):
            if name not in known.tests and not any(p == name or p.endswith("/" + name) for p in known.paths):
                yield i, f"there is no {name}"
        if not line.startswith("|"):
            has_tests = False
        elif line.rstrip(" |").endswith("shown by"):
            has_tests = True
        elif has_tests:
            for number in (a or b for a, b in TEST_NUMBER.findall(line.rstrip(" |").rsplit("|", 1)[-1])):
                if not any(w.startswith(f"test_{number}_") or f"_{number}_" in w for w in known.test_words):
                    yield i, f"there is no test {number}"


def stale_usage(text, known):
    """(line number, what is gone) of the commands and options that a page shows."""
    for i, line in enumerate(text.split("\n"), 1):
        for words in COMMAND.findall(line):
            first = words.split()[0]
            if first not in known.commands:
                yield i, f"pumice has no command {first}"
        for option in OPTION.findall(line):
            if option not in known.options:
                yield i, f"no program here has the option --{option}"


def headings(path):
    """The anchors of a page, as GitHub makes them."""
    with open(path) as f:
        text = re.sub(r"```.*?```", "", f.read(), flags=re.S)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}


def stale_anchors(path, text):
    for i, line in enumerate(text.split("\n"), 1):
        for page, anchor in ANCHOR.findall(line):
            target = os.path.normpath(os.path.join(os.path.dirname(path), page)) if page else path
            if os.path.exists(target) and anchor not in headings(target):
                yield i, f"{target} has no heading #{anchor}"


class Known:
    def __init__(self):
        self.words, self.paths = sources()
        self.test_words = [w for w in self.words if w.startswith("test_")]
        self.tests = tests()
        self.options, self.commands = options_and_commands()


def outside_blocks(text):
    return re.sub(r"```.*?```", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def problems_of_page(path, text, known):
    is_design = path.startswith("docs/design/")
    if not path.startswith("examples/"):
        yield from stale_names(text if is_design else outside_blocks(text), known)
    yield from stale_usage(text, known)
    yield from stale_anchors(path, text)


def main():
    names = Known()
    known = set().union(*(rows(page) for page in NUMBERED.values()))
    files = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", *glob.glob("**/meson.build", recursive=True)]
    for d in ROOTS:
        for kind in ("c", "h", "py", "md"):
            files += glob.glob(f"{d}/**/*.{kind}", recursive=True)
    bad = 0
    for path in sorted(set(f for f in files if not f.startswith(("build", "b-")))):
        with open(path) as f:
            text = f.read()
        found = [(line, problem) for line, told in comments(path, text) for problem in problems_of(path, told, known)]
        if path.endswith(".md") and not path.startswith("tests/"):
            found += problems_of_page(path, text, names)
        for line, problem in found:
            print(f"{path}:{line}: {problem}")
        bad += len(found)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
