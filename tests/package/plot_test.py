#!/usr/bin/env python3
"""What benchmarks/plot draws of each kind of file."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree

PLOT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "plot"
SVG = "{http://www.w3.org/2000/svg}"


def side(pairs):
    return {"seconds": [0.001] * len(pairs), "positions": [1] * len(pairs), "pairs": pairs}


FILES = {
    "compare": {"model": "m", "peer": "p<1>", "threads": 2, "tests": {
        "decode": {"tokens": 8, "rill_seconds": [1, 2, 1], "peer_seconds": [2, 4, 4]}}},
    "decode": {"model": "m", "tokens": 2, "rows": [
        {"threads": n, "context": c, "seconds": [c / n], "reading_seconds": [c / n / 2]}
        for n in (1, 2) for c in (16, 32)]},
    "prefill": {"model": "m", "tokens": 2, "rows": [
        {"threads": 1, "context": c, "seconds": [1, 3, 2]} for c in (0, 512, 1024)]},
    "contention": {"model": "m", "threads": 2, "tokens_per_second": {
        "decode": {"0": [4, 4, 4], "1": [2, 3, 4]}, "prefill": {"0": [8], "1": [2]}}},
    "load": {"model": "m", "sides": {"rill": [{"seconds": 0.02, "peak_bytes": 1}],
                                     "peer": [{"seconds": 0.5, "peak_bytes": 2}]}},
    "tail_latency": {"model": "m", "threads": 2, "decodes": 8, "prompt": 1500, "quiet_ms": 10, "target_ms": 30,
                     "budgeted": {"ttft_ms": 90, "steps": [[40, 40, 256], [80, 40, 256], [90, 10, 0]]},
                     "whole": {"ttft_ms": 400, "steps": [[400, 400, 1500], [410, 10, 0], [420, 10, 0]]}},
    "batch_curve": {"model": "m", "threads": 2, "rows": [
        {"batch": n, "tokens_per_second": 100 * n, "p50_ms": 10, "p99_ms": 10 + n} for n in (1, 2, 4)]},
    "kv_cache": {"model": "m", "threads": 2, "with": side(list(range(1, 301))),
                 "without": side([n * (n + 1) / 2 for n in range(1, 301)])},
}


class Plot(unittest.TestCase):
    def draw(self, *benchmarks):
        """{name: root of the SVG} of one call."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for benchmark in benchmarks:
                content = {"benchmark": benchmark, **FILES.get(benchmark, {})}
                (folder / f"{benchmark}.json").write_text(json.dumps(content))
            files = [folder / f"{benchmark}.json" for benchmark in benchmarks]
            subprocess.run([sys.executable, PLOT, folder, *files], check=True, capture_output=True)
            return {file.stem: tree.parse(file).getroot() for file in folder.glob("*.svg")}

    def curves(self, root):
        """The points of each path; legends are paths of two points at one height."""
        paths = [[tuple(map(float, point.split(","))) for point in path.get("d")[1:].replace("L", "").split()]
                 for path in root.iter(SVG + "path")]
        return [path for path in paths if len(path) > 2 or path[0][1] != path[1][1]]

    def test_one_picture_for_each_benchmark(self):
        self.assertEqual(set(FILES), set(self.draw(*FILES)))

    def test_compare_draws_the_median_ratio(self):
        root = self.draw("compare")["compare"]
        texts = [text.text for text in root.iter(SVG + "text")]
        self.assertIn("m against p<1>, 2 threads", texts)
        self.assertIn("2.00 × (8 tokens/s)", texts)

    def test_contention_and_load_draw_medians(self):
        pictures = self.draw("contention", "load")
        texts = {name: [text.text for text in root.iter(SVG + "text")] for name, root in pictures.items()}
        shares = [text for text in texts["contention"] if len(text) == 4 and text[1] == "."]
        self.assertEqual(["1.00", "0.75", "1.00", "0.25"], shares)
        self.assertIn("20 ms", texts["load"])
        self.assertIn("500 ms", texts["load"])

    def test_decode_draws_a_curve_and_its_bound_for_each_number_of_threads(self):
        curves = self.curves(self.draw("decode")["decode"])
        self.assertEqual(4, len(curves))
        slopes = [(a[1] - b[1]) / (b[0] - a[0]) for a, b in curves]  # pixels down are values up
        for slope, expected in zip(slopes, (1, 1 / 2, 1 / 2, 1 / 4)):
            self.assertAlmostEqual(slope / slopes[0], expected, delta=0.02)

    def test_kv_cache_draws_a_square_and_a_cube(self):
        curves = self.curves(self.draw("kv_cache")["kv_cache"])
        self.assertEqual(6, len(curves))
        (x0, y0), (x1, y1) = curves[4][-20], curves[4][-1]
        (_, z0), (_, z1) = curves[5][-20], curves[5][-1]
        self.assertTrue(math.isclose((z0 - z1) / (y0 - y1), 1.5, rel_tol=0.02))  # on logarithmic axes: powers 3 and 2
        self.assertLess(x0, x1)

    def test_tail_latency_draws_both_ways_and_the_target(self):
        curves = self.curves(self.draw("tail_latency")["tail_latency"])
        self.assertEqual(3, len(curves))  # the cut prompt twice
        worst = [max(y for _, y in curve) - min(y for _, y in curve) for curve in curves[:2]]
        self.assertAlmostEqual(worst[1] / worst[0], (400 - 10) / (40 - 10), delta=0.3)
        texts = [text.text for text in self.draw("tail_latency")["tail_latency"].iter(SVG + "text")]
        self.assertIn("twice the target: 60 ms", texts)

    def test_batch_curve_draws_throughput_and_the_tail(self):
        curves = self.curves(self.draw("batch_curve")["batch_curve"])
        self.assertEqual(3, len(curves))
        (x0, y0), (x1, y1), (x2, y2) = curves[0]
        self.assertAlmostEqual((y0 - y2) / (y0 - y1), 3, delta=0.05)  # pixels down are values up
        self.assertAlmostEqual(curves[1][0][1], curves[1][2][1], delta=0.2)
        self.assertGreater(curves[2][0][1], curves[2][2][1])

    def test_an_unknown_file_is_refused(self):
        with self.assertRaises(subprocess.CalledProcessError):
            self.draw("roofline")


if __name__ == "__main__":
    unittest.main()
