#!/usr/bin/env python3
"""Finds functions that the product cannot reach: only a test calls them, or no code at all.

The search starts at main() and all tables, and follows every name in a function's body or a macro. clang-format makes this
easy: a definition begins and ends in the first column. tools/unused.txt lists the exceptions with their reasons. An
unreached function that is not in the list fails, and so does a needless entry.
"""
import glob
import re
import sys

ALLOWED = "tools/unused.txt"
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
DEFINITION = re.compile(r"^(?:[\w*][^;{}=#/()]*?\W)?(\w+)\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)\n\{\n(.*?)^\}", re.M | re.S)
MACRO = re.compile(r"^#define (\w+)(?:\([^)]*\))?((?:[^\n\\]|\\\n|\\[^\n])*)", re.M)
PROTOTYPE = re.compile(r"^\w[^;{}=\n]*(?:\n +[^;{}=\n]*)*\)[^;{}=\n]*;", re.M)


def stripped(text):
    """Without comments and texts."""
    keep = lambda m: '""' if m[0][0] == '"' else "\n" * m[0].count("\n") or " "
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', keep, text, flags=re.S)


class Product:
    def __init__(self):
        self.uses = {}    # name or file -> words it mentions
        self.file_of = {} # function -> file that defines it
        self.statics = {} # (file, function) -> words
        for path in sorted(glob.glob("src/**/*.[ch]", recursive=True)):
            if "/test/" not in path:
                with open(path) as f:
                    self.read(path, stripped(f.read()))

    def read(self, path, text):
        rest = text
        for m in DEFINITION.finditer(text):
            name = m[1]
            rest = rest.replace(m[0], "")
            words = set(WORD.findall(m[2]))
            if re.match(r"static\b", m[0]):
                self.statics[path, name] = words
            else:
                self.uses.setdefault(name, set()).update(words)  # there are two programs, and each has a main()
                self.file_of[name] = path
        for m in MACRO.finditer(rest):
            self.uses.setdefault(m[1], set()).update(WORD.findall(m[2]))
        if path.endswith(".c"):
            self.uses[path] = set(WORD.findall(PROTOTYPE.sub("", rest)))

    def reached(self):
        static_in = {}
        for path, name in self.statics:
            static_in.setdefault(name, []).append(path)
        seen, todo = set(), [("main", "src/main.c"), *((path, path) for path in self.uses if "/" in path)]
        while todo:
            name, path = todo.pop()
            own = (path, name) if (path, name) in self.statics else None
            key = own or name
            if key in seen:
                continue
            seen.add(key)
            if own:
                words, home = self.statics[own], path
            elif name in self.uses:
                words, home = self.uses[name], name if "/" in name else self.file_of.get(name, path)
            elif name in static_in:  # an inline function of a header
                for header in static_in[name]:
                    if header.endswith(".h"):
                        todo.append((name, header))
                continue
            else:
                continue
            todo += [(w, home) for w in words]
        return seen

    def unreached(self):
        seen = self.reached()
        found = {name: path for name, path in self.file_of.items() if name not in seen}
        found.update({name: path for path, name in self.statics if path.endswith(".h") and (path, name) not in seen})
        return found


def main():
    with open(ALLOWED) as f:
        allowed = {line.split()[0] for line in f if line.strip() and line[0] != "#"}
    found = Product().unreached()
    for name in sorted(set(found) - allowed):
        print(f"{found[name]}: {name}: nothing of the product reaches it: remove it, or list it with a reason in {ALLOWED}")
    for name in sorted(allowed - set(found)):
        print(f"{ALLOWED}: {name}: is reached, or gone: take it off the list")
    return set(found) != allowed


if __name__ == "__main__":
    sys.exit(main())
