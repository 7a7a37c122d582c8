#!/usr/bin/env python3
"""Checks the documents of a source tree, `check_docs.py SOURCE_TREE`: links lead to files, and code is code that is built.

Every ```cpp block must stand, line for line but for its indentation, in one of the programs of
examples/, which the tests compile; README.md's first block is the whole of examples/readme.cc.
"""

import pathlib
import re
import sys
import textwrap

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def normal(text):
    return textwrap.dedent(text).strip("\n")


def contains(program, sample):
    """Whether the sample's lines stand together in the program, both shifted to the left as a whole."""
    lines, wanted = program.splitlines(), normal(sample).splitlines()
    return any(normal("\n".join(lines[i:i + len(wanted)])).splitlines() == wanted for i in range(len(lines)))


def check(root):
    problems = []
    programs = {path: path.read_text(encoding="utf-8") for path in sorted((root / "examples").rglob("*.cc"))}
    for path in sorted([*root.glob("*.md"), *root.glob("docs/*.md")]):
        text = path.read_text(encoding="utf-8")
        for target in LINK.findall(text):
            if "://" not in target and not (path.parent / target).exists():
                problems.append(f"{path.name}: the link to {target} leads nowhere")
        blocks = BLOCK.findall(text)
        for block in blocks:
            if not any(contains(program, block) for program in programs.values()):
                problems.append(f"{path.name}: in no file of examples/:\n{block}")
        readme = root / "examples" / "readme.cc"
        if path.name == "README.md" and (not blocks or normal(blocks[0]) != normal(programs.get(readme, ""))):
            problems.append("README.md: the first code block is not examples/readme.cc")
    return problems


def main():
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "the documents agree with the tree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
