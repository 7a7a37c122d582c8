#!/usr/bin/env python3
"""The scan of check_baseline.py finds newer instructions, tells whose they are, and lets the baseline's pass."""

import unittest

import check_baseline

DISASSEMBLY = """
0000000000000000 <rill::to_string(rill::ErrorCode)>:
   0:	endbr64
   4:	movaps %xmm0,%xmm1
   7:	rep bsf %eax,%eax
   9:	tzcnt  %eax,%eax
   b:	call   10 <vmovups>
0000000000000010 <rill::kernels::N_AVX3::dot(float const*)>:
  10:	vmovups (%rdi),%zmm0
0000000000000020 <std::vector<float>::push_back(float&&)>:
  20:	push   %rbx
  21:	vfmadd231ps %ymm0,%ymm1,%ymm2
  26:	vzeroupper
0000000000000030 <rill::count(unsigned long)>:
  30:	rep popcnt %rax,%rax
0000000000000040 <rill::mask()>:
  40:	kmovw  %eax,%k1
""".replace("", "").splitlines()


class CheckBaseline(unittest.TestCase):
    def test_scan(self):
        self.assertEqual(
            [("rill::kernels::N_AVX3::dot(float const*)", "vmovups", True),
             ("std::vector<float>::push_back(float&&)", "vfmadd231ps", False),
             ("rill::count(unsigned long)", "popcnt", False),
             ("rill::mask()", "kmovw", False)],
            list(check_baseline.scan(DISASSEMBLY)))


if __name__ == "__main__":
    unittest.main()
