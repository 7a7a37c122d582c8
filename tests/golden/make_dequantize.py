#!/usr/bin/env python3
"""Writes dequantize.txt: random blocks of every element type and what the `gguf` package decodes them to.

Each line: type, the blocks' bytes in hex, the decoded floats' bits (little-endian) in hex. Needs: pip install gguf numpy
"""
import pathlib

import numpy as np
from gguf import GGMLQuantizationType
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize

TYPES = "F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q4_K Q5_K Q6_K".split()
# Where a block keeps its f16 scale and minimum: random bytes there would often be NaN, whose payload nobody promises.
HALVES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
SCALES = np.array([1.0, -0.0123, 6e-8, -5.9e-5, 65504.0, 0.0, -0.0, 0.333], np.float16)

rng = np.random.default_rng(1)
lines = []
for name in TYPES:
    kind = GGMLQuantizationType[name]
    elements, size = GGML_QUANT_SIZES[kind]
    blocks = 3 if elements == 256 else 6 if elements == 32 else 64
    data = rng.integers(0, 256, (blocks, size), np.uint8)
    for at in HALVES.get(name, []):
        data[:, at:at + 2] = rng.permutation(SCALES)[:blocks].view(np.uint8).reshape(blocks, 2)
    if elements == 1:
        values = rng.normal(size=blocks).astype(np.float32)
        values[:6] = [0.0, -0.0, np.inf, -np.inf, 1e-7, -3e-5]
        data = {"F32": values, "F16": values.astype(np.float16), "BF16": (values.view(np.uint32) >> 16).astype(np.uint16)}[name]
        data = data.view(np.uint8).reshape(1, -1)
    with np.errstate(all="ignore"):
        decoded = dequantize(data, kind).astype(np.float32)
    assert not np.isnan(decoded).any(), name
    lines.append(f"{name} {data.tobytes().hex()} {decoded.tobytes().hex()}")
pathlib.Path(__file__).with_name("dequantize.txt").write_text("\n".join(lines) + "\n")
