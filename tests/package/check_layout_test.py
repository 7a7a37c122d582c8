#!/usr/bin/env python3
"""Each rule of check_layout.py is broken once, and must be reported."""

import pathlib
import tempfile
import unittest

import check_layout


class CheckLayout(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {"include/rill/a.h": "", "src/base/a.h": "", **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_layout.check(root)

    def test_in_order(self):
        self.assertEqual([], self.problems({
            "include/rill/b.h": "#include <vector>\n#include \"rill/a.h\"\n",
            "include/rill/fmt.h": "#include <fmt/format.h>\n",
            "src/session/a.cc": "#include \"base/a.h\"\n#include \"model/a.h\"\n#include \"rill/a.h\"\n",
            "src/kernels/ops-inl.h": "#include \"hwy/highway.h\"\n",
            "src/kernels/dot.cc": "#include \"kernels/ops-inl.h\"\n",
        }))

    def test_each_rule(self):
        for name, text in {
            "src/base/b.h": "#include \"session/session.h\"\n",      # upwards
            "src/sampling/b.cc": "#include \"kernels/table.h\"\n",   # sideways
            "src/tensor/b.cc": "#include <hwy/highway.h>\n",         # Highway outside the kernels
            "src/kernels/b.cc": "  #  include \"hwy/highway.h\"\n",  # Highway past ops-inl.h
            "src/model/b.cc": "#include <nlohmann/json.hpp>\n",      # a third party in the wrong layer
            "src/model/c.cc": "#include \"forward.h\"\n",            # a path without its layer
            "src/extras/b.cc": "",                                   # a folder that is no layer
            "include/rill/b.h": "#include <fmt/format.h>\n",         # a third party in public
            "include/rill/c.h": "#include \"base/a.h\"\n",           # an internal header in public
            "include/rill/d.h": "#include \"rill/missing.h\"\n",     # a header that is not installed
            "include/rill/e.h": "#include <unistd.h>\n",             # not portable
            "include/rill/f.h": "//\n" * 201,                        # too long
            "include/rill/rill.h": "",                               # an umbrella that leaves rill/a.h out
        }.items():
            with self.subTest(name):
                found = self.problems({name: text})
                self.assertTrue(found)
                self.assertTrue(all(line.startswith(name) for line in found), found)


if __name__ == "__main__":
    unittest.main()
