#!/usr/bin/env python3
"""The worst habits of language, found by machine.

    riddle      a phrase of RIDDLES, or a sentence that begins with What, Who, Whoever or Whatever, has two verbs and is
                no question; in Markdown, in the page (src/ui/page), and in comments and strings of C
    sentence    a sentence of more than 40 words in Markdown; tables, code and headings are not read, and a code span or
                a list of code spans is one word
    log         a message of log_error, log_warn, log_info or log_debug that is not a string, does not begin with a
                capital letter, ends with a full stop, or contains a printf conversion

    tools/words.py [--strict]    files with more findings than tools/words.txt allows; exit status 1 if there are any
    tools/words.py PATH...       all findings in these files and directories, allowed or not
    tools/words.py --update      lower the counts of tools/words.txt to what is found
    tools/words.py --test        check the rules against samples

A line of tools/words.txt is "FILE RULE COUNT". Counts only shrink: --update never raises one. A count that is too high
is a note, and an error with --strict. Product code is src/ without test/; docs/plugins.md is generated and not read.
"""
import bisect
import collections
import glob
import os
import re
import sys

ALLOWED = "tools/words.txt"
LONGEST = 40  # words of a sentence
RIDDLES = (  # 'nobody' before a quote or a colon is the name of a user
    r"nobody(?!\s?[\"'`:])", "somebody", "whoever", "of before", "any more", "of no use", "of any use", r"(?:is|are|be|was|were|been) told",
    "be told", "a whole again", "(?:is|are|be|was|were) gone", "what it was", "what they were", r"who (?:we|it|they) (?:is|are|am)",
    "makes? nothing of", "more than nothing", "are asking just now", "written anew", "what it is (?:packed|known|asked|made)",
    "what is needed", "has been there", "is not there any", "of nothing", "from nothing", "for nothing", "are here to stay", "(?:is|are) of use",
    "what is to be", "what there is", "all there is",
)
RIDDLE = re.compile(r"\b(?:%s)\b" % "|".join(r.replace(" ", r"\s+") for r in RIDDLES), re.I)
VERB = r"\b(?:is|are|was|were|has|have|had|can|cannot|may|must|does|do|gets?|goes|stays?|comes?)\b"
CLAUSE = re.compile(rf"\A\W*(?:What|Who|Whoever|Whatever)\b[^.?!;:]*{VERB}[^.?!;:]*{VERB}[^?]*\Z")
SENTENCE_END = re.compile(r"(?<=[.!?])(?:[\"')*_]*)\s+(?=[\"'(*_\[]*[A-Z0-9`])|(?<=[.!?]\))\s+|\n\s*\n")
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|No|approx)\.|…)$")
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
LOG = re.compile(r"\blog_(?:error|warn|info|debug)\(\s*")
CONVERSION = re.compile(r"%[-+ #0]*[\d*.]*(?:hh?|ll?|[zjtq])?[diouxXscpfgeGE]")
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')

Finding = collections.namedtuple("Finding", "path line rule what")


class Lines:
    def __init__(self, text):
        self.starts = [m.end() for m in re.finditer("\n", text)]

    def at(self, offset):
        return bisect.bisect_right(self.starts, offset) + 1


def blank(text):
    """As long as 'text' and with its lines, but white."""
    return re.sub(r"\S", " ", text)


def sentences(text, start=0):
    """(offset, sentence) of running text."""
    begin = 0
    for m in [*SENTENCE_END.finditer(text), None]:
        end = m.start() if m else len(text)
        if m and "\n" not in m[0].strip(" ") and ABBREVIATION.search(text[begin:end]):
            continue
        words = text[begin:end]
        if words.strip():
            yield start + begin + len(words) - len(words.lstrip()), words.strip()
        begin = m.end() if m else end


def short(text, most=90):
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most - 1] + "…"


def riddles_of(text, start=0):
    """(offset, what) of the riddles in running text."""
    for m in RIDDLE.finditer(text):
        yield start + m.start(), f'"{short(m[0])}": name who does what'
    for offset, sentence in sentences(text, start):
        if CLAUSE.match(sentence):
            yield offset, f'"{short(sentence, 60)}": begin with the subject'


def prose(text):
    """Markdown with everything white that is no prose; an item, a paragraph and a table end with an empty line."""
    text = re.sub(r"^( *)```.*?^ *```", lambda m: blank(m[0]), text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", lambda m: blank(m[0]), text, flags=re.S)
    text = re.sub(r"^( {0,3}#.*| *\|.*| *!\[.*|(?: {4,}|\t)\$ .*)$", lambda m: blank(m[0]), text, flags=re.M)
    return text


def paragraphs(text):
    """(offset, paragraph) of prose; an item of a list is one."""
    for m in re.finditer(r"(?:^[ \t]*\S.*\n?)+?(?=^[ \t]*(?:[-*+]|\d+\.) |^[ \t]*$|\Z)", text, re.M):
        yield m.start(), m[0]


def spans_as_words(text):
    """A code span is one word, and so is a list of them."""
    text = re.sub(r"`[^`]*`|\[([^\]]*)\]\([^)]*\)", lambda m: m[1] or "`x`", text)
    return re.sub(r"`x`(?:(?:,| and| or|, and|, or| /)\s*`x`)+", "`x`", text)


def count_words(sentence):
    return len([w for w in spans_as_words(sentence).split() if re.search(r"[\w`]", w)])


def check_markdown(text):
    """(offset, rule, what)"""
    text = prose(text)
    quiet = re.sub(r"`[^`\n]*`|`[^`]*`", lambda m: "`" + re.sub(r"[^\n]", "x", m[0][1:-1]) + "`", text)
    for start, paragraph in paragraphs(quiet):
        for offset, what in riddles_of(paragraph, start):
            yield offset, "riddle", what
        for offset, sentence in sentences(paragraph, start):
            words = count_words(sentence)
            if words > LONGEST:
                yield offset, "sentence", f"{words} words: \"{short(text[offset:offset + 80], 60)}\""


def first_argument(text, offset):
    depth = 0
    for m in re.compile(r'"(?:\\.|[^"\\\n])*"|[(),]').finditer(text, offset):
        if m[0] == "(":
            depth += 1
        elif m[0] in ",)" and depth == 0:
            return text[offset:m.start()]
        elif m[0] == ")":
            depth -= 1
    return text[offset:]


def faults_of_message(message):
    if not re.match("[A-Z]", message):
        yield "does not begin with a capital letter"
    if message.endswith("."):
        yield "ends with a full stop"
    if CONVERSION.search(message):
        yield "contains a printf conversion: give the value as a field"


def check_log(text):
    """(offset, rule, what) of the log messages; a choice between two messages is two."""
    for m in LOG.finditer(text):
        line = text[text.rfind("\n", 0, m.start()) + 1:m.start()]
        if line.startswith(("#define", "void ", "static ")) or line.lstrip().startswith("*"):
            continue
        argument = first_argument(text, m.end())
        messages = ["".join(STRING.findall(run[0])) for run in re.finditer(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*', argument)]
        for message in messages:
            for fault in faults_of_message(message):
                yield m.start(), "log", f'"{short(message, 60)}" {fault}'
        if not messages:
            yield m.start(), "log", f"{short(argument, 40)}: the message is not a string"


def check_c(text):
    for m in TEXT.finditer(text):
        if m[0][0] == "'":
            continue
        words = m[0]
        if words[0] == "/":
            words = re.sub(r"\n[ \t]*\* ?", lambda n: "\n" + " " * (len(n[0]) - 1), "  " + words[2:].removesuffix("*/"))
        for offset, what in riddles_of(words, m.start()):
            yield offset, "riddle", what
    yield from check_log(text)


def check_page(text):
    for m in RIDDLE.finditer(text):
        yield m.start(), "riddle", f'"{short(m[0])}": name who does what'


def checker_of(path):
    if path.endswith(".md"):
        return check_markdown
    return check_c if path.endswith((".c", ".h")) else check_page


def all_files():
    files = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
    for top in ("docs", "tests", "examples", "packaging", "bench", "fuzz", "src"):
        files += glob.glob(f"{top}/**/*.md", recursive=True)
    for kind in ("c", "h"):
        files += [f for f in glob.glob(f"src/**/*.{kind}", recursive=True) if "/test/" not in f]
    for kind in ("html", "js"):
        files += glob.glob(f"src/ui/page/**/*.{kind}", recursive=True)
    return sorted(f for f in set(files) if f != "docs/plugins.md" and os.path.isfile(f))


def findings_of(paths):
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        lines = Lines(text)
        found = sorted((lines.at(offset), rule, what) for offset, rule, what in checker_of(path)(text))
        for line, rule, what in found:
            yield Finding(path, line, rule, what)


def read_allowed():
    allowed = {}
    if os.path.exists(ALLOWED):
        with open(ALLOWED) as f:
            for line in f:
                if line.strip() and line[0] != "#":
                    path, rule, count = line.split()
                    allowed[path, rule] = int(count)
    return allowed


def write_allowed(counts):
    with open(ALLOWED, "w") as f:
        f.write("# FILE RULE COUNT: findings of tools/words.py that stand. Counts only shrink: tools/words.py --update\n")
        f.writelines(f"{path} {rule} {count}\n" for (path, rule), count in sorted(counts.items()) if count)


def show(finding):
    print(f"{finding.path}:{finding.line}: {finding.rule}: {finding.what}")


def check_all(strict, update):
    by_key = collections.defaultdict(list)
    for finding in findings_of(all_files()):
        by_key[finding.path, finding.rule].append(finding)
    is_new = not os.path.exists(ALLOWED)
    allowed = read_allowed()
    if update:
        old = {k: len(v) for k, v in by_key.items()} if is_new else allowed
        allowed = {k: min(n, len(by_key.get(k, ()))) for k, n in old.items()}
        write_allowed(allowed)
    bad = 0
    for key, found in sorted(by_key.items()):
        most = allowed.get(key, 0)
        if len(found) > most:
            bad += 1
            print(f"{key[0]}: {len(found)} findings of rule {key[1]}, {ALLOWED} allows {most}:")
            for finding in found:
                show(finding)
    low = sum(n > len(by_key.get(key, ())) for key, n in allowed.items())
    if low:
        print(f"{'error' if strict else 'note'}: {low} counts of {ALLOWED} are too high: run tools/words.py --update")
    return 1 if bad or (strict and low) else 0


# (checker, text, the rules it breaks)
SAMPLES = (
    (check_markdown, "The scheduler keeps these CPUs for the gang.", []),
    (check_markdown, "Nobody is asked.", ["riddle"]),
    (check_markdown, "Pods run as `nobody`.", []),
    (check_markdown, "The server is\ntold of the pod.", ["riddle"]),
    (check_markdown, "What is in the way is removed.", ["riddle"]),
    (check_markdown, "What happens if a pod has failed and is restarted?", []),
    (check_markdown, "What you get:", []),
    (check_markdown, "```\nnobody\n```\n| nobody |\n", []),
    (check_markdown, "A " + "very " * 39 + "long sentence.", ["sentence"]),
    (check_markdown, "A " + "very " * 37 + "long sentence.", []),
    (check_markdown, "- " + "word " * 25 + "\n- " + "word " * 25 + "\n", []),
    (check_markdown, "One " + "word " * 25 + "ends.\nTwo " + "word " * 25 + "ends.", []),
    (check_markdown, "Sets " + ", ".join(["`a_b`"] * 60) + ".", []),
    (check_c, "int nobody; /* the pods of this job */", []),
    (check_c, "/* a lock that is\n * of no use */", ["riddle"]),
    (check_c, 'err_set(e, "the pod is gone");', ["riddle"]),
    (check_c, 'log_info("Adopted running pods", LOG_INT("pods", n));', []),
    (check_c, 'log_info("adopted pods");', ["log"]),
    (check_c, 'log_warn("Adopted pods.", LOG_TEXT("why", "it was."));', ["log"]),
    (check_c, 'log_debug("Adopted %zu pods", n);', ["log"]),
    (check_c, 'log_error(n > 1 ? "Adopted pods" : "adopted a pod");', ["log"]),
    (check_c, 'log_error("Lost "\n          "pods.");', ["log"]),
    (check_c, "log_error(message);", ["log"]),
    (check_c, "#define X(m) log_error(m)", []),
    (check_page, "<p>Nobody has said why</p>", ["riddle"]),
)


def test():
    failed = 0
    for check, text, want in SAMPLES:
        got = [rule for _, rule, _ in check(text)]
        if got != want:
            failed += 1
            print(f"{check.__name__} of {text!r}: {got}, not {want}")
    print(f"cases: {len(SAMPLES) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main(argv):
    if "--test" in argv:
        return test()
    if paths := [a.removesuffix("/") for a in argv[1:] if not a.startswith("-")]:
        for finding in findings_of(f for f in all_files() if any(f == p or f.startswith(p + "/") for p in paths)):
            show(finding)
        return 0
    return check_all("--strict" in argv, "--update" in argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
