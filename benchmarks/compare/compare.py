#!/usr/bin/env python3
"""rill and a peer on the same file, machine and run: rounds in turn, medians, and the ratio of each round.

    compare.py MODEL.gguf                                  against llama-cpp-python (see install-peer)
    compare.py MODEL.gguf --peer-python build/peer-ik/bin/python    against ik_llama.cpp (install-peer ik)
    compare.py MODEL.gguf --llama-bench path/to/llama-bench   against a program of that kind

Each side is a process that answers a line "prefill COUNT DEPTH 1" or "decode COUNT DEPTH SEQUENCES" with seconds. rill's
also answers "bytes COUNT DEPTH 1" with what a decoded token reads of weights, keys and values, and "read COUNT DEPTH 1"
with the seconds to read that COUNT times on the same threads and do nothing else: decode's bound, measured between the
rounds. The last line printed is key=value pairs: the medians of the ratios, and of the share of the bound.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# name: (what, tokens, depth, sequences)
TESTS = {
    "decode": ("decode", 128, 16, 1),
    "prefill": ("prefill", 512, 0, 1),
    "batch8": ("decode", 32, 16, 8),
    "batch32": ("decode", 16, 16, 32),
    "depth4096": ("decode", 32, 4096, 1),
    "prefill4096": ("prefill", 512, 4096, 1),
}


class Process:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{command[0]} did not start")

    def ask(self, what, tokens, depth, sequences=1):
        self.process.stdin.write(f"{what} {tokens} {depth} {sequences}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


class LlamaBench:
    """A llama-bench program, started anew for each measurement; it does one sequence only."""

    def __init__(self, program, model, threads):
        self.command = [program, "-m", model, "-t", str(threads), "-r", "1", "-o", "json"]

    def ask(self, what, tokens, depth, sequences=1):
        if sequences != 1:
            return None
        counts = ["-p", str(tokens), "-n", "0"] if what == "prefill" else ["-p", "0", "-n", str(tokens)]
        depths = ["-d", str(depth)] if depth > 16 else []
        output = subprocess.run(self.command + counts + depths, check=True, capture_output=True, text=True).stdout
        return tokens / json.loads(output)[0]["avg_ts"]


class Test:
    """The rounds of one test, each a pair of seconds, and for decode of one sequence those of reading alone."""

    def __init__(self, name):
        self.name = name
        self.what, self.tokens, self.depth, self.sequences = TESTS[name]
        self.rounds, self.reading, self.bytes = [], [], None

    def run(self, ours, peer, rounds):
        bounded = self.what == "decode" and self.sequences == 1
        if bounded:
            self.bytes = ours.ask("bytes", self.tokens, self.depth)
        for round_index in range(rounds + 1):
            pair = [side.ask(self.what, self.tokens, self.depth, self.sequences) for side in (ours, peer)]
            reading = ours.ask("read", self.tokens, self.depth) if bounded else None
            if round_index > 0 and None not in pair:  # the first warms up
                self.rounds.append(pair)
                self.reading.append(reading)

    def report(self):
        """Prints a row; returns its key=value pairs."""
        ratios = [theirs / mine for mine, theirs in self.rounds]
        total = self.tokens * self.sequences
        mine, theirs = (total / statistics.median(column) for column in zip(*self.rounds))
        ratio = statistics.median(ratios)
        row = f"{self.name:<12} {mine:>10.1f} {theirs:>10.1f}   {ratio:>6.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        pairs = [f"{self.name}_ratio={ratio:.3f}"]
        if self.bytes:
            of_bound = statistics.median(read / pair[0] for read, pair in zip(self.reading, self.rounds))
            bandwidth = self.bytes * self.tokens / statistics.median(self.reading)
            row += f"   {of_bound:.2f} of {bandwidth / 1e9:.1f} GB/s, {self.bytes / 1e6:.1f} MB a token"
            pairs.append(f"{self.name}_of_bound={of_bound:.3f}")
        print(row, flush=True)
        return pairs

    def record(self):
        record = {"tokens": self.tokens * self.sequences, "rill_seconds": [mine for mine, _ in self.rounds],
                  "peer_seconds": [theirs for _, theirs in self.rounds]}
        if self.bytes:
            record.update(bytes=self.bytes, reading_seconds=self.reading)
        return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tests", default=",".join(TESTS), help="of " + ", ".join(TESTS))
    parser.add_argument("--accurate", action="store_true", help="rill with 16-bit activations")
    parser.add_argument("--build", default=ROOT / "build/release", help="where rill_worker was built")
    parser.add_argument("--peer-python", default=ROOT / "build/peer/bin/python", help="a Python that has llama_cpp or ik_llama_cpp")
    parser.add_argument("--llama-bench", help="a llama-bench program as the peer")
    parser.add_argument("--peer-label", help="the peer's name in the output")
    parser.add_argument("--json", help="write every measurement to this file")
    args = parser.parse_args()

    worker = [str(pathlib.Path(args.build) / "benchmarks/rill_worker"), args.model, str(args.threads)]
    ours = Process(worker + (["accurate"] if args.accurate else []))
    if args.llama_bench:
        peer = LlamaBench(args.llama_bench, args.model, args.threads)
    else:
        peer = Process([str(args.peer_python), str(HERE / "peer_worker.py"), args.model, str(args.threads)])

    label = args.peer_label or ("llama-bench" if args.llama_bench else "llama.cpp")
    print(f"{'test':<12} {'rill':>10} {label:>10}   tokens/s, medians;  ratio: median (least to most)")
    summary, record = [], {}
    for name in args.tests.split(","):
        test = Test(name)
        test.run(ours, peer, args.rounds)
        if test.rounds:
            summary += test.report()
            record[name] = test.record()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(
            {"benchmark": "compare", "model": pathlib.Path(args.model).stem, "peer": label, "threads": args.threads,
             "tests": record}, indent=1))
    print(" ".join(summary))


if __name__ == "__main__":
    sys.exit(main())
