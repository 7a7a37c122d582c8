#!/usr/bin/env python3
"""rill and a peer on the same file, machine and run: rounds in turn, medians, and the ratio of each round.

    compare.py MODEL.gguf                                  against llama-cpp-python (see install-peer)
    compare.py MODEL.gguf --llama-bench path/to/llama-bench   against a program of that kind

Each side is a process that answers a line "prefill COUNT DEPTH" or "decode COUNT DEPTH SEQUENCES" with seconds. The last line
printed is key=value pairs: the medians of the ratios.
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

    def seconds(self, what, tokens, depth, sequences):
        self.process.stdin.write(f"{what} {tokens} {depth} {sequences}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


class LlamaBench:
    """A llama-bench program, started anew for each measurement; it does one sequence only."""

    def __init__(self, program, model, threads):
        self.command = [program, "-m", model, "-t", str(threads), "-r", "1", "-o", "json"]

    def seconds(self, what, tokens, depth, sequences):
        if sequences != 1:
            return None
        counts = ["-p", str(tokens), "-n", "0"] if what == "prefill" else ["-p", "0", "-n", str(tokens)]
        depths = ["-d", str(depth)] if depth > 16 else []
        output = subprocess.run(self.command + counts + depths, check=True, capture_output=True, text=True).stdout
        return tokens / json.loads(output)[0]["avg_ts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tests", default=",".join(TESTS), help="of " + ", ".join(TESTS))
    parser.add_argument("--accurate", action="store_true", help="rill with 16-bit activations")
    parser.add_argument("--build", default=ROOT / "build/release", help="where rill_worker was built")
    parser.add_argument("--peer-python", default=ROOT / "build/peer/bin/python", help="a Python that has llama_cpp")
    parser.add_argument("--llama-bench", help="a llama-bench program as the peer")
    parser.add_argument("--json", help="write every measurement to this file")
    args = parser.parse_args()

    worker = [str(pathlib.Path(args.build) / "benchmarks/rill_worker"), args.model, str(args.threads)]
    ours = Process(worker + (["accurate"] if args.accurate else []))
    if args.llama_bench:
        peer = LlamaBench(args.llama_bench, args.model, args.threads)
    else:
        peer = Process([str(args.peer_python), str(HERE / "llama_cpp_worker.py"), args.model, str(args.threads)])

    summary, record = [], {}
    print(f"{'test':<12} {'rill':>10} {'peer':>10}   tokens/s, medians;  ratio: median (least to most)")
    for name in args.tests.split(","):
        what, tokens, depth, sequences = TESTS[name]
        total = tokens * sequences
        rounds = []
        for round_index in range(args.rounds + 1):
            pair = [side.seconds(what, tokens, depth, sequences) for side in (ours, peer)]
            if round_index > 0 and None not in pair:  # the first warms up
                rounds.append(pair)
        if not rounds:
            continue
        ratios = [b / a for a, b in rounds]
        mine, theirs = (total / statistics.median(column) for column in zip(*rounds))
        print(f"{name:<12} {mine:>10.1f} {theirs:>10.1f}   {statistics.median(ratios):>6.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)
        summary.append(f"{name}_ratio={statistics.median(ratios):.3f}")
        record[name] = {"rill_seconds": [a for a, _ in rounds], "peer_seconds": [b for _, b in rounds], "tokens": total}
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(record, indent=1))
    print(" ".join(summary))


if __name__ == "__main__":
    sys.exit(main())
