#!/usr/bin/env python3
"""What check_docs.py must let pass, and what it must report."""

import pathlib
import tempfile
import unittest

import check_docs

PROGRAM = "int main() {\n  int x = 1;\n  return x;\n}\n"


class CheckDocs(unittest.TestCase):
    def problems(self, readme, api=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "examples").mkdir()
            (root / "docs").mkdir()
            (root / "examples" / "readme.cc").write_text(PROGRAM)
            (root / "README.md").write_text(readme)
            (root / "docs" / "api.md").write_text(api)
            return check_docs.check(root)

    def test_agreement(self):
        readme = f"[tour](docs/api.md#start) [web](https://example.org)\n```cpp\n{PROGRAM}```\n"
        self.assertEqual([], self.problems(readme, "```cpp\nint x = 1;\nreturn x;\n```\n"))

    def test_differences(self):
        readme = f"```cpp\n{PROGRAM}```\n"
        self.assertEqual(2, len(self.problems(readme.replace("x = 1", "x = 2"))))  # in no example, and not readme.cc
        self.assertEqual(1, len(self.problems(readme, "```cpp\nint x = 2;\n```\n")))
        self.assertEqual(1, len(self.problems(readme, "```cpp\nint x = 1;\n}\n```\n")))
        self.assertEqual(1, len(self.problems(readme, "[gone](gone.md)")))
        self.assertEqual(1, len(self.problems("no program")))


if __name__ == "__main__":
    unittest.main()
