#!/usr/bin/env python3
"""Checks that code which runs on every x86-64 machine holds no newer instruction: `check_baseline.py OBJDUMP OBJECTS_FILE`,
the file with one object a line. With a third argument, `simd`, finding no code of a SIMD target at all is a failure too: such
a scan does not see what it should.

Instructions beyond the x86-64 baseline (SSE2) may stand only in functions of the namespaces of the SIMD targets, which run
after the CPU was asked. A copy of a shared inline function or template counts as baseline code, wherever it was compiled: the
linker may keep that very copy for everyone.
"""

import pathlib
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\s+(?:(?:lock|rep|repz|repnz|notrack|bnd)\s+)*([a-z0-9]+)")
PER_TARGET = re.compile(r"\bN_(SSE4|AVX2|AVX3)\b")
# AVX and later start with v or k (mask registers); the rest is SSE3 to SSE4.2 and the bit manipulation sets. `tzcnt` is
# missing on purpose: compilers write it as `rep bsf`, which older processors execute as bsf.
NEWER = re.compile(
    r"(v[a-z0-9]+|k(add|and|mov|not|or|shift|test|unpck|xnor|xor)[a-z]*"
    r"|pshufb|phadd[a-z]+|phsub[a-z]+|pmaddubsw|pmulhrsw|psign[bwd]|pabs[bwd]|palignr|haddp[sd]|hsubp[sd]|addsubp[sd]|movddup"
    r"|movs[hl]dup|lddqu|pmulld|pmuldq|pblend[a-z]+|blendv?p[sd]|ptest|round[ps][sd]|dpp[sd]|insertps|extractps|pinsr[bdq]"
    r"|pextr[bdq]|pmov[sz]x[a-z]+|pmin(sb|sd|uw|ud)|pmax(sb|sd|uw|ud)|packusdw|pcmpeqq|pcmpgtq|pcmp[ei]str[im]|mpsadbw"
    r"|phminposuw|movntdqa|popcnt|crc32[a-z]*|lzcnt|andn|bextr|bls(i|r|msk)|bzhi|mulx|pdep|pext|rorx|s[ah][lr]x|movbe)")


def scan(disassembly):
    """Yields (function, instruction, whether it belongs to a SIMD target) for the first newer instruction of a function."""
    function, reported = "", False
    for line in disassembly:
        if match := FUNCTION.match(line):
            function, reported = match[1], False
        elif not reported and (match := INSTRUCTION.match(line)) and NEWER.fullmatch(match[1]):
            reported = True
            yield function, match[1], bool(PER_TARGET.search(function))


def main():
    objdump, objects = sys.argv[1], pathlib.Path(sys.argv[2]).read_text(encoding="utf-8").split("\n")
    objects = [name for name in objects if name]
    per_target = problems = 0
    for name in objects:
        command = [objdump, "--disassemble", "--demangle", "--no-show-raw-insn", name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for function, instruction, expected in scan(process.stdout):
                per_target += expected
                if not expected:
                    problems += 1
                    print(f"{name}: {function}: {instruction}")
        if process.returncode != 0:
            sys.exit(f"{name}: objdump failed")
    print(f"{len(objects)} objects: {per_target} functions of SIMD targets, {problems} newer instructions in baseline code")
    sys.exit(1 if problems or not objects or ("simd" in sys.argv[3:] and not per_target) else 0)


if __name__ == "__main__":
    main()
