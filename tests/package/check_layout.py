#!/usr/bin/env python3
"""Checks the order of the layers: `check_layout.py SOURCE_TREE` prints each include that goes against it, and fails.

- A layer of src/ includes itself, what ALLOWED gives it, what those may include in turn, and public headers.
- Public headers include the standard library and each other; rill/fmt.h and rill/eigen.h alone name a third party.
- Highway is named by src/kernels/ops-inl.h alone.
- A public header has at most 200 lines, and rill/rill.h includes it, but for those two and export.h.
"""

import pathlib
import re
import sys

ALLOWED = {
    "base": [],
    "gguf": ["tensor", "base"],
    "tensor": ["base"],
    "kernels": ["tensor"],
    "sampling": ["base"],
    "tokenizer": ["gguf", "base"],
    "chat": ["base"],
    "kv": ["tensor", "base"],
    "model": ["kernels", "kv", "gguf", "tokenizer"],
    "regex": ["base"],
    "schema": ["regex", "base"],
    "grammar": ["tokenizer", "regex", "schema", "base"],
    "session": ["model", "chat", "grammar", "sampling"],
    "schedule": ["session"],
}
THIRD_PARTY = {  # the layers that may include what from outside; fmt and xxhash serve all of them
    "utf8proc.h": {"tokenizer", "chat", "regex"},
    "nlohmann/": {"chat"},
    "Eigen/": {"schedule"},
    "hwy/": {"kernels"},
    "fmt/": set(ALLOWED),
    "xxhash.h": set(ALLOWED),
}
HEADER_LINES = 200
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
STANDARD = re.compile(r"[a-z_0-9]+")  # <vector>, <cstdint>: no slash, no .h


def reachable(layer):
    """The layers that `layer` may include: itself and all below it."""
    found, todo = set(), [layer]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += ALLOWED[name]
    return found


def includes(path):
    """(line, text between quotes or angles, whether it was quoted) of each include of a file."""
    text = path.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1] or match[2], match[1] is not None


def check_public(root, problems):
    for path in sorted((root / "include").rglob("*.h")):
        name = path.relative_to(root)
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > HEADER_LINES:
            problems.append(f"{name}: {lines} lines, at most {HEADER_LINES} are allowed")
        third_party = {"fmt.h": "fmt/", "eigen.h": "Eigen/"}.get(path.name)
        for line, target, quoted in includes(path):
            if quoted:
                fine = target.startswith("rill/") and (root / "include" / target).is_file()
            else:
                fine = STANDARD.fullmatch(target) or (third_party and target.startswith(third_party))
            if not fine:
                problems.append(f"{name}:{line}: a public header includes {target}")
    check_umbrella(root, problems)


def check_umbrella(root, problems):
    umbrella = root / "include" / "rill" / "rill.h"
    if not umbrella.is_file():
        return
    included = {target for _, target, _ in includes(umbrella)}
    for path in sorted((root / "include" / "rill").glob("*.h")):
        if path.name not in ("rill.h", "export.h", "fmt.h", "eigen.h") and f"rill/{path.name}" not in included:
            problems.append(f"include/rill/rill.h: does not include rill/{path.name}")


def check_layers(root, problems):
    for path in sorted(p for p in (root / "src").rglob("*") if p.suffix in (".h", ".cc")):
        name = path.relative_to(root)
        layer = name.parts[1]
        if layer not in ALLOWED:
            problems.append(f"{name}: {layer} is no layer of check_layout.py")
            continue
        for line, target, quoted in includes(path):
            owner = target.split("/")[0]
            if owner in ALLOWED and owner not in reachable(layer):
                problems.append(f"{name}:{line}: {layer} must not include {target}")
            if quoted and owner not in ALLOWED and owner != "rill" and not target.startswith("hwy/"):
                problems.append(f"{name}:{line}: write {target} as \"layer/...\" or \"rill/...\"")
            check_third_party(name, line, layer, target, problems)


def check_third_party(name, line, layer, target, problems):
    for prefix, layers in THIRD_PARTY.items():
        if target.startswith(prefix) and layer not in layers:
            problems.append(f"{name}:{line}: {layer} must not include {target}")
    if target.startswith("hwy/") and name.name != "ops-inl.h":
        problems.append(f"{name}:{line}: only ops-inl.h may include {target}")


def check(root):
    problems = []
    check_public(root, problems)
    check_layers(root, problems)
    return problems


def main():
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "the layers are in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
