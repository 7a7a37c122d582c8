#!/usr/bin/env python3
"""Masks of rill and of its peers on the same grammars, texts, tokens and machine, one grammar after the other in turn.

    compare_grammar.py MODEL.gguf SCHEMAS.jsonl [--gbnf c.gbnf] [--peers llguidance] [--schemas 50]

SCHEMAS.jsonl is a file of maskbench's. Of each schema its valid instances are followed, spelled without white space; only
schemas that every engine compiles count, and of a text only the tokens that all allow, so that all have made the same masks. A
mask's time holds that of accepting the token; a peer's also a call from Python, about 0.3 us. A peer that is not installed is
left out and named; xgrammar takes seconds to compile some schemas. The last line printed is key=value pairs, rill's figures
over the peer's.
"""
import argparse
import itertools
import json
import pathlib
import random
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Process:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline().strip() == "ready"

    def ask(self, work):
        self.process.stdin.write(json.dumps(work) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args} ended")
        return json.loads(line)


def c_program(seed, functions=12):
    """A program that llama.cpp's c.gbnf takes."""
    draw = random.Random(seed)
    name = lambda: draw.choice(["x", "total", "index_2", "getValue", "n", "buffer"])
    number = lambda: str(draw.randrange(1000))
    expression = lambda: draw.choice([name, number])() + draw.choice(["+", "*", "-"]) + draw.choice([name, number])()
    statement = lambda: draw.choice([
        lambda: f"{name()} = {expression()};", lambda: f"while({name()}<{number()}){{{name()} = {expression()};}}",
        lambda: f"int {name()} = {number()};", lambda: f"return {expression()};",
        lambda: f"if({name()}=={number()}){{{name()} ({number()});}}"])()
    return "".join(f"{draw.choice(['int', 'float', 'char'])} f{i}(int {name()}){{" +
                   "".join(statement() for _ in range(6)) + "}" for i in range(functions))


def works_of_schemas(path):
    for line in pathlib.Path(path).read_text().splitlines():
        case = json.loads(line)
        texts = [json.dumps(test["data"], separators=(",", ":"), ensure_ascii=False) for test in case["tests"] if test["valid"]]
        if texts:
            yield {"kind": "json_schema", "grammar": json.dumps(case["schema"]), "texts": texts}


class Figures:
    def __init__(self):
        self.compile, self.mask = [], []

    def row(self):
        mask = sorted(self.mask)
        at = lambda part: mask[int(part * (len(mask) - 1))]
        return {"mask_mean": statistics.mean(mask), "mask_p50": at(0.5), "mask_p99": at(0.99), "mask_p999": at(0.999),
                "compile_p50": statistics.median(self.compile)}


def run(sides, works):
    figures = {name: Figures() for name in sides}
    refused = {name: 0 for name in sides}
    for work in works:
        work["texts"] = sides["rill"].ask({"encode": work["texts"]})
        answers = {name: side.ask(work) for name, side in sides.items()}
        for name, answer in answers.items():
            refused[name] += "error" in answer
        if any("error" in answer for answer in answers.values()):
            continue
        for name, answer in answers.items():
            figures[name].compile.append(answer["compile_us"])
        for masks in zip(*(answer["mask_us"] for answer in answers.values())):  # of one text, by each side
            allowed = min(map(len, masks))
            for figure, own in zip(figures.values(), masks):
                figure.mask += own[:allowed]
    return figures, refused


def report(title, figures, refused):
    """Prints a table; returns its key=value pairs."""
    rill = figures["rill"]
    if not rill.mask:
        print(f"{title}: nothing that all take; refused: {refused}")
        return []
    print(f"{title}: {len(rill.compile)} grammars, {len(rill.mask)} masks; refused: {refused}")
    rows = {name: figure.row() for name, figure in figures.items()}
    pairs = []
    for name, row in rows.items():
        ratios = {key: rows["rill"][key] / row[key] for key in row}
        print(f"  {name:<11}" + "".join(f"  {key} {row[key]:.1f} us" + ("" if name == "rill" else f" ({ratios[key]:.2f})")
                                        for key in row), flush=True)
        if name != "rill":
            pairs += [f"{title}_{name}_{key}_ratio={ratio:.3f}" for key, ratio in ratios.items()]
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("schemas")
    parser.add_argument("--schemas", type=int, help="so many of the file's, not all", dest="most")
    parser.add_argument("--gbnf", help="llama.cpp's c.gbnf")
    parser.add_argument("--peers", default="llguidance,xgrammar")
    parser.add_argument("--peer-python", default=ROOT / "build/peer-grammar/bin/python")
    parser.add_argument("--build", default=ROOT / "build/release", help="where grammar_worker was built")
    args = parser.parse_args()

    sides = {"rill": Process(pathlib.Path(args.build) / "benchmarks/grammar_worker", args.model)}
    vocabulary = sides["rill"].ask({"vocabulary": True})
    for peer in args.peers.split(","):
        side = Process(args.peer_python, HERE / "peer_grammar_worker.py", peer)
        if side.ready:
            side.ask(vocabulary)
            sides[peer] = side
        else:
            print(f"NOT COMPARED: {peer}, which did not start (install-grammar-peers)", flush=True)

    summary = report("schemas", *run(sides, itertools.islice(works_of_schemas(args.schemas), args.most)))
    if args.gbnf:
        grammar = pathlib.Path(args.gbnf).read_text()
        works = [{"kind": "gbnf", "grammar": grammar, "texts": [c_program(seed)]} for seed in range(10)]
        summary += report("c_gbnf", *run(sides, works))
    print(" ".join(summary))


if __name__ == "__main__":
    sys.exit(main())
