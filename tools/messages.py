#!/usr/bin/env python3
"""messages.py - the tables src/api/message/messages_*.c, from the Go types of the published k8s.io/api modules

    tools/messages.py DIR      # of the module cache, where k8s.io/{api,apimachinery,apiextensions-apiserver}@VERSION are

Number, name and type of each field, whether it is a pointer, what may be left out, and how lists and maps merge are facts
of the tags and markers in those files; see src/api/message/message.h for what a row means. Run it when a release adds fields.
"""
import os
import re
import sys

VERSION = "v0.36.4"
# folder of types.go, prefix of C names, kinds that start the tables
PACKAGES = {
    "meta": ("k8s.io/apimachinery@%s/pkg/apis/meta/v1/types.go", "v1",
             "DeleteOptions ListOptions GetOptions CreateOptions UpdateOptions PatchOptions Status WatchEvent"),
    "core": ("k8s.io/api@%s/core/v1/types.go", "v1",
             "Pod Service ConfigMap Secret Namespace Node Event PersistentVolume PersistentVolumeClaim ServiceAccount"
             " ResourceQuota Endpoints Binding LimitRange PodTemplate"),
    "coordination": ("k8s.io/api@%s/coordination/v1/types.go", "coordination.k8s.io/v1", "Lease"),
    "networking": ("k8s.io/api@%s/networking/v1/types.go", "networking.k8s.io/v1", "NetworkPolicy"),
    "node": ("k8s.io/api@%s/node/v1/types.go", "node.k8s.io/v1", "RuntimeClass"),
    "policy": ("k8s.io/api@%s/policy/v1/types.go", "policy/v1", "PodDisruptionBudget Eviction"),
    "scheduling": ("k8s.io/api@%s/scheduling/v1/types.go", "scheduling.k8s.io/v1", "PriorityClass"),
    "discovery": ("k8s.io/api@%s/discovery/v1/types.go", "discovery.k8s.io/v1", "EndpointSlice"),
    "events": ("k8s.io/api@%s/events/v1/types.go", "events.k8s.io/v1", "Event"),
    "rbac": ("k8s.io/api@%s/rbac/v1/types.go", "rbac.authorization.k8s.io/v1",
             "Role RoleBinding ClusterRole ClusterRoleBinding"),
    "authentication": ("k8s.io/api@%s/authentication/v1/types.go", "authentication.k8s.io/v1",
                       "TokenRequest TokenReview SelfSubjectReview"),
    "authorization": ("k8s.io/api@%s/authorization/v1/types.go", "authorization.k8s.io/v1",
                      "SubjectAccessReview LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview"),
    "storage": ("k8s.io/api@%s/storage/v1/types.go", "storage.k8s.io/v1", "StorageClass CSINode"),
    "apiextensions": ("k8s.io/apiextensions-apiserver@%s/pkg/apis/apiextensions/v1/types.go", "apiextensions.k8s.io/v1",
                      "CustomResourceDefinition"),
    "autoscaling": ("k8s.io/api@%s/autoscaling/v1/types.go", "autoscaling/v1", "Scale"),
}
FILES = {"meta": "meta", "core": "core"}  # the rest goes into "other"
ALIASES = {"metav1": "meta", "v1": "core", "corev1": "core", "apiv1": "core", "": None}
SPECIAL = {"meta.Time": "TIME", "meta.MicroTime": "MICRO_TIME", "meta.Duration": "DURATION", "resource.Quantity": "QUANTITY",
           "intstr.IntOrString": "INT_OR_STR", "runtime.RawExtension": "RAW", "meta.FieldsV1": "FIELDS", "runtime.Object": "RAW",
           "apiextensions.JSON": "RAW",
           "string": "TEXT", "bool": "BOOL", "int32": "INT32", "int64": "INT64", "float64": "DOUBLE", "byte": "BYTE", "types.UID": "TEXT",
           "int": "INT64", "uint8": "BYTE"}
STRUCTS = "TIME MICRO_TIME DURATION QUANTITY INT_OR_STR RAW FIELDS MESSAGE".split()
EITHER = re.compile(r"JSONSchemaPropsOr\w+$")  # in JSON what one of its two fields is
HEAD = """/* messages_%s.c - written by tools/messages.py; see message.h for what a row says */
#include "api/message/message_rows.h"

/* clang-format off */
"""


ROWS_HEAD = """/* message_rows.h - how the rows of messages_*.c are written, and the names of all messages; by tools/messages.py */
#ifndef API_MESSAGE_MESSAGE_ROWS_H
#define API_MESSAGE_MESSAGE_ROWS_H

#include "api/message/message.h"

/* clang-format off */

#define MESSAGE(var, title, atomic)                                                                                    \\
    const struct message var = { title, var##_fields, sizeof(var##_fields) / sizeof(var##_fields[0]), atomic }

#define ROW(number, name, shape, ...) { number, shape, sizeof(name) - 1, name, __VA_ARGS__ }
#define ONE(number, name, ...)  ROW(number, name, SHAPE_ONE, __VA_ARGS__)
#define LIST(number, name, ...) ROW(number, name, SHAPE_LIST, __VA_ARGS__)
#define MAP(number, name, ...)  ROW(number, name, SHAPE_MAP, __VA_ARGS__)

#define OF(message) MESSAGE_MESSAGE, &message
#define TEXT        MESSAGE_TEXT, NULL
#define TEXTS       MESSAGE_TEXTS, NULL
#define BOOL        MESSAGE_BOOL, NULL
#define INT32       MESSAGE_INT32, NULL
#define INT64       MESSAGE_INT64, NULL
#define BYTES       MESSAGE_BYTES, NULL
#define TIME        MESSAGE_TIME, NULL
#define MICRO_TIME  MESSAGE_MICRO_TIME, NULL
#define DURATION    MESSAGE_DURATION, NULL
#define QUANTITY    MESSAGE_QUANTITY, NULL
#define INT_OR_STR  MESSAGE_INT_OR_STR, NULL
#define DOUBLE      MESSAGE_DOUBLE, NULL
#define EITHER(message) MESSAGE_EITHER, &message
#define RAW         MESSAGE_RAW, NULL
#define FIELDS      MESSAGE_FIELDS, NULL

#define KEYS(names)   .keys = names
#define MERGED(key)   .merge_key = key
#define FLAGS(bits)   .flags = bits
#define POINTER       MESSAGE_POINTER
#define ALWAYS        MESSAGE_ALWAYS
#define ATOMIC        MESSAGE_ATOMIC
#define REPLACED      MESSAGE_REPLACED

"""


def read_types(path, package):
    """{name: {"fields": [...], "alias": text, "marks": [...]}} of one file."""
    types, marks, current = {}, [], None
    for line in open(path):
        line = line.rstrip("\n")
        if m := re.match(r"\s*//\s?(.*)", line):
            marks.append(m[1].strip())
            continue
        if m := re.match(r"type (\w+) struct ?\{\}", line):
            types[m[1]] = {"fields": [], "marks": marks, "package": package}
        elif m := re.match(r"type (\w+) struct \{", line):
            current = types[m[1]] = {"fields": [], "marks": marks, "package": package}
        elif m := re.match(r"type (\w+) ([^={]+)$", line):
            types[m[1]] = {"alias": m[2].strip(), "marks": marks, "package": package}
        elif line.startswith("}"):
            current = None
        elif current is not None and (m := re.match(r"\t(?:(\w+)\s+)?([\w\.\*\[\]]+)\s+`(.*)`", line)):
            current["fields"].append((m[1], m[2], dict(re.findall(r'(\w+):"([^"]*)"', m[3])), marks))
        if line.strip():
            marks = []
        elif current is None:  # a blank line parts a comment from what it is not about, but markers stand apart
            marks = [x for x in marks if x.startswith("+")]
    return types


class Tables:
    def __init__(self, root):
        self.packages = {p: read_types(os.path.join(root, path % VERSION), p) for p, (path, _, _) in PACKAGES.items()}
        watch = PACKAGES["meta"][0].replace("types.go", "watch.go") % VERSION
        self.packages["meta"] |= read_types(os.path.join(root, watch), "meta")
        schema = PACKAGES["apiextensions"][0].replace("types.go", "types_jsonschema.go") % VERSION
        self.packages["apiextensions"] |= read_types(os.path.join(root, schema), "apiextensions")
        self.done, self.order = {}, []

    def find(self, text, package):
        """(package, name) of a type as written in that package."""
        if "." in text:
            alias, name = text.split(".")
            return ALIASES.get(alias, alias), name
        return package, text

    def kind_of(self, text, package):
        """Shape, C type and message of a Go type."""
        pointer = text.startswith("*")
        text = text.lstrip("*")
        where, name = self.find(text, package)
        if f"{where}.{name}" in SPECIAL or text in SPECIAL:
            return "ONE", SPECIAL.get(f"{where}.{name}") or SPECIAL[text], None, pointer
        if text == "[]byte":
            return "ONE", "BYTES", None, pointer
        if m := re.match(r"map\[[\w\.]+\](.*)", text):
            inner = self.kind_of(m[1], package)
            return "MAP", inner[1], inner[2], pointer
        if text.startswith("[]"):
            inner = self.kind_of(text[2:], package)
            return "LIST", inner[1], inner[2], pointer
        t = self.packages[where][name]
        if "alias" in t:
            if t["alias"].startswith("[]") and any("protobuf.nullable" in x for x in t["marks"]):
                return "ONE", "TEXTS", None, pointer
            inner = self.kind_of(t["alias"], where)
            return inner[0], inner[1], inner[2], pointer
        return "ONE", "EITHER" if EITHER.match(name) else "MESSAGE", self.visit(where, name), pointer

    def visit(self, package, name):
        c = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
        c = f"msg_{c}" if package == "core" else f"msg_{package}_{c}"
        if (package, name) in self.done:
            return c
        self.done[package, name] = c
        rows = [row for field in self.packages[package][name]["fields"] if (row := self.row(field, package))]
        self.order.append((package, c, name, rows, "+structType=atomic" in self.packages[package][name]["marks"]))
        return c

    def row(self, field, package):
        go_name, go_type, tags, marks = field
        if "protobuf" not in tags:
            return None
        number = int(tags["protobuf"].split(",")[1])
        json_name, *options = (tags.get("json") or tags["protobuf"].partition("name=")[2]).split(",")
        shape, kind, sub, pointer = self.kind_of(go_type, package)
        marks = {m.split("=")[0]: m.partition("=")[2] for m in marks if m.startswith("+")} | {
            "+listMapKeys": [m.partition("=")[2] for m in marks if m.startswith("+listMapKey=")]}
        flags, more = [], ""
        if pointer:
            flags.append("POINTER")
        is_struct = shape == "ONE" and kind in STRUCTS and not pointer and "omitzero" not in options
        if "inline" not in options and ("omitempty" not in options or is_struct):  # Go never takes a struct for empty
            flags.append("ALWAYS")
        if "atomic" in (marks.get("+structType"), marks.get("+mapType")):
            flags.append("ATOMIC")
        strategy = tags.get("patchStrategy", "")
        keys = None
        if shape == "LIST":
            kind_of_list = marks.get("+listType")
            if kind_of_list == "map":
                keys = ",".join(self.with_default(k, go_type, package) for k in marks["+listMapKeys"])
            elif kind_of_list == "set":
                keys = ""
            elif kind_of_list is None and "merge" in strategy:
                keys = tags.get("patchMergeKey", "")
        if "replace" in strategy:
            flags.append("REPLACED")
        if keys is not None:
            more += f', KEYS("{keys}")'
        if shape == "LIST" and "merge" in strategy:
            more += f', MERGED("{tags.get("patchMergeKey", "")}")'
        if flags:
            more += f', FLAGS({" | ".join(flags)})'
        of = f"{'EITHER' if kind == 'EITHER' else 'OF'}({sub})" if sub else kind
        name = "NULL" if "inline" in options else f'"{json_name}"'
        return number, f"    {shape}({number}, {name}, {of}{more}),"

    def with_default(self, key, go_type, package):
        """A key that the server fills in when it is missing: "protocol=TCP"."""
        where, name = self.find(go_type.lstrip("[]*"), package)
        while "alias" in self.packages[where][name]:
            where, name = self.find(self.packages[where][name]["alias"].lstrip("[]*"), where)
        for _, _, tags, marks in self.packages[where][name]["fields"]:
            if tags.get("json", "").split(",")[0] == key:
                for m in marks:
                    if m.startswith("+default="):
                        return key + "=" + m.partition("=")[2].strip('"')
        return key

    def write(self, out):
        roots = []
        for package, (_, version, kinds) in PACKAGES.items():
            for kind in kinds.split():
                roots.append((version, kind, self.visit(package, kind)))
                if f"{kind}List" in self.packages[package]:
                    roots.append((version, kind + "List", self.visit(package, kind + "List")))
        texts = {f: HEAD % f for f in ("meta", "core", "other")}
        for package, c, name, rows, atomic in self.order:
            f = FILES.get(package, "other")
            body = "\n".join(text for _, text in sorted(rows))
            texts[f] += f"\nstatic const struct message_field {c}_fields[] = {{\n{body}\n}};\n"
            texts[f] += f"MESSAGE({c}, \"{name}\", {'true' if atomic else 'false'});\n"
        texts["other"] += "\nconst struct message_kind message_kinds[] = {\n" + "".join(
            f'    {{ "{v}", "{k}", &{c} }},\n' for v, k, c in roots) + "};\n"
        texts["other"] += "const size_t n_message_kinds = sizeof(message_kinds) / sizeof(message_kinds[0]);\n"
        for f, text in texts.items():
            with open(os.path.join(out, f"messages_{f}.c"), "w") as h:
                h.write(text)
        with open(os.path.join(out, "message_rows.h"), "w") as h:
            h.write(ROWS_HEAD + "".join(f"extern const struct message {c};\n" for _, c, *_ in self.order) + "\n#endif\n")


def main():
    out = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src/api/message")
    Tables(sys.argv[1]).write(out)


if __name__ == "__main__":
    main()
