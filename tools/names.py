#!/usr/bin/env python3
"""Names that grep finds, and functions that can be called without counting: static functions of one word and struct tags
have one definition in the product, no name is in three files, no function has more than seven parameters, and those with
more than five only get fewer.

    tools/names.py          what breaks a rule; exit status 1 if anything does
    tools/names.py DIR      for who works in DIR: functions with more than five parameters, and functions of up to three
                            lines that are used once

Product code is src/ without test/. tools/names.txt lists the functions with six or seven parameters that stand: one that
is not listed fails, and so does one that is listed and has fewer now.
"""
import collections
import glob
import re
import sys

ALLOWED = "tools/names.txt"
DEFINITION = re.compile(r"^(static )?(?:[\w*][^;{}=#/()]*?\W)(\w+)\(([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*)\)\n\{\n(.*?)^\}", re.M | re.S)
TAG = re.compile(r"^(?:typedef |static |const )*(?:struct|union|enum) (\w+) \{", re.M)
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)


def without_comments(text):
    return COMMENT.sub(lambda m: m[0] if m[0][0] in "\"'" else "\n" * m[0].count("\n") or " ", text)


def count_parameters(text):
    if text.strip() in ("", "void"):
        return 0
    while "(" in text:  # of a function that is handed in
        text = re.sub(r"\([^()]*\)", "", text)
    return text.count(",") + 1


class Product:
    def __init__(self):
        self.statics = collections.defaultdict(list)  # name -> files
        self.tags = collections.defaultdict(list)
        self.functions = []  # (file, name, parameters, lines of the body, is static)
        self.texts = {}
        for path in sorted(glob.glob("src/**/*.[ch]", recursive=True)):
            if "/test/" in path:
                continue
            with open(path) as f:
                text = without_comments(f.read())
            self.texts[path] = text
            for m in DEFINITION.finditer(text):
                self.functions.append((path, m[2], count_parameters(m[3]), m[4].count("\n"), bool(m[1])))
                if m[1] and path.endswith(".c"):
                    self.statics[m[2]].append(path)
            for m in TAG.finditer(text):
                self.tags[m[1]].append(path)

    def problems(self):
        for name, paths in sorted(self.statics.items()):
            if len(paths) > 2 or (len(paths) > 1 and "_" not in name):
                yield f"{name} is defined in {', '.join(paths)}: put the name of the file in front"
        for name, paths in sorted(self.tags.items()):
            if len(paths) > 1:
                yield f"struct {name} is defined in {', '.join(paths)}: give each a tag of its own"
        with open(ALLOWED) as f:
            allowed = {line.strip() for line in f if line.strip() and line[0] != "#"}
        many = set()
        for path, name, count, _, _ in self.functions:
            if count > 7:
                yield f"{path}: {name} has {count} parameters: at most seven, better five; pass a struct"
            elif count > 5:
                many.add(name)
                if name not in allowed:
                    yield f"{path}: {name} has {count} parameters: pass a struct, or keep to five"
        for name in sorted(allowed - many):
            yield f"{ALLOWED}: {name} has at most five parameters now, or is gone: take it off the list"

    def look(self, folder):
        for path, name, count, lines, is_static in self.functions:
            if not path.startswith(folder):
                continue
            if count > 5:
                print(f"{path}: {name} has {count} parameters")
            if is_static and lines <= 3 and len(re.findall(rf"\b{name}\b", self.texts[path])) == 2:
                print(f"{path}: {name}, of {lines} lines, is used once")


def main(argv):
    product = Product()
    if len(argv) > 1:
        product.look(argv[1])
        return 0
    problems = list(product.problems())
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
