#!/usr/bin/env python3
"""A peer's side of compare_grammar.py, with the lines of grammar_worker.cc; the first is what that one says of its vocabulary.

    peer_grammar_worker.py llguidance|xgrammar
"""
import json
import sys
import time


class LlGuidance:
    def __init__(self, tokens, controls, end):
        import llguidance

        class Bytes:  # asked only for tokens that are forced, which are not measured
            eos_token_id, bos_token_id, special_token_ids = end, None, controls

            def __init__(self):
                self.tokens = tokens
                self.ids = {token[0]: i for i, token in enumerate(tokens) if len(token) == 1}

            def __call__(self, text):
                return [self.ids.get(byte, 0) for byte in (text.encode() if isinstance(text, str) else text)]

        self.llg = llguidance
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Bytes()), n_vocab=len(tokens))
        self.mask = bytearray((len(tokens) + 31) // 32 * 4)
        import ctypes
        self.address = ctypes.addressof((ctypes.c_char * len(self.mask)).from_buffer(self.mask))

    def compile(self, kind, grammar):
        matcher_of = self.llg.LLMatcher
        if kind == "gbnf":
            source = matcher_of.grammar_from_lark(self.llg.gbnf_to_lark.any_to_lark(grammar))
        else:
            source = matcher_of.grammar_from_json_schema(grammar)
        matcher = matcher_of(self.tokenizer, source, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, compiled):
        return compiled.deep_copy()

    def step(self, matcher, token):
        matcher.unsafe_compute_mask_ptr(self.address, len(self.mask))
        return matcher.consume_token(token)


class XGrammar:
    def __init__(self, tokens, controls, end):
        import torch
        import xgrammar

        torch.set_num_threads(1)
        self.xgr = xgrammar
        vocabulary = [b"" if i in set(controls) else token for i, token in enumerate(tokens)]
        info = xgrammar.TokenizerInfo(vocabulary, xgrammar.VocabType.RAW, stop_token_ids=[end])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self.mask = xgrammar.allocate_token_bitmask(1, len(tokens))

    def compile(self, kind, grammar):
        if kind == "gbnf":
            return self.compiler.compile_grammar(grammar)
        return self.compiler.compile_json_schema(grammar, strict_mode=False)

    def start(self, compiled):
        return self.xgr.GrammarMatcher(compiled)

    def step(self, matcher, token):
        matcher.fill_next_token_bitmask(self.mask)
        return matcher.accept_token(token)


def measure(engine, work):
    try:
        begin = time.perf_counter()
        compiled = engine.compile(work["kind"], work["grammar"])
        compile_us = (time.perf_counter() - begin) * 1e6
    except Exception as error:  # whatever it throws for what it does not take
        return {"error": str(error)}
    texts = []
    for text in work["texts"]:
        matcher, masks = engine.start(compiled), []
        for token in text:
            begin = time.perf_counter()
            if not engine.step(matcher, token):
                break
            masks.append((time.perf_counter() - begin) * 1e6)
        texts.append(masks)
    return {"compile_us": compile_us, "mask_us": texts}


def main():
    kind = {"llguidance": LlGuidance, "xgrammar": XGrammar}[sys.argv[1]]
    try:
        __import__(sys.argv[1])
    except ImportError as error:
        raise SystemExit(f"{sys.argv[1]}: {error}")
    print("ready", flush=True)
    vocabulary = json.loads(sys.stdin.readline())
    tokens = [bytes.fromhex(token) for token in vocabulary["tokens"]]
    engine = kind(tokens, vocabulary["controls"], vocabulary["end"])
    print("{}", flush=True)
    for line in sys.stdin:
        print(json.dumps(measure(engine, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
