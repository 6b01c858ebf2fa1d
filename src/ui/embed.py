"""Makes a C file of the files of the page: embed.py OUT FILE…"""
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}


def rows(data, n=24):
    return ",\n    ".join(",".join(str(b) for b in data[i:i + n]) for i in range(0, len(data), n))


def main(out, *files):
    text, table = ['#include "ui/ui.h"\n'], []
    for i, path in enumerate(sorted(files)):
        with open(path, "rb") as f:
            data = f.read()
        name = os.path.basename(path)
        tag = hashlib.sha256(data).hexdigest()[:16]
        text.append(f"static const unsigned char file_{i}[] = {{\n    {rows(data)}\n}};\n")
        kind = TYPES[os.path.splitext(name)[1]]
        table.append(f'    {{ "{name}", "{kind}", "\\"{tag}\\"", file_{i}, sizeof(file_{i}) }},')
    text.append("const struct ui_file ui_files[] = {\n" + "\n".join(table) + "\n};\n")
    text.append(f"const size_t ui_n_files = {len(table)};\n")
    with open(out, "w") as f:
        f.write("\n".join(text))


main(*sys.argv[1:])
