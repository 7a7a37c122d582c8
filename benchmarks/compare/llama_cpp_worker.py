#!/usr/bin/env python3
"""Does the work that compare.py names on its standard input with llama-cpp-python and answers with seconds."""
import ctypes
import sys
import time

import llama_cpp as ll


def token_at(i):
    return 100 + i % 1000


class Worker:
    def __init__(self, path, threads):
        ll.llama_backend_init()
        self.silence = ll.llama_log_callback(lambda level, text, data: None)
        ll.llama_log_set(self.silence, ctypes.c_void_p(0))
        self.model = ll.llama_model_load_from_file(path.encode(), ll.llama_model_default_params())
        self.threads = threads
        self.context = None
        self.held = None

    def start(self, count, depth, sequences):
        """A context whose sequences hold `depth` tokens; the one of the last call serves again if it was for the same."""
        if self.held == (count, depth, sequences):
            memory = ll.llama_get_memory(self.context)
            if all(ll.llama_memory_seq_rm(memory, sequence, depth, -1) for sequence in range(sequences)):
                return
        if self.context is not None:
            ll.llama_free(self.context)
        params = ll.llama_context_default_params()
        params.n_ctx = (depth + count + 8) * sequences
        params.n_batch = 2048
        params.n_ubatch = 512
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = self.threads
        self.context = ll.llama_init_from_model(self.model, params)
        if not self.context:
            raise SystemExit("no context")
        for sequence in range(sequences):
            self.feed_prompt(depth, 0, sequence)
        self.held = (count, depth, sequences)

    def feed(self, rows):
        """rows: (token, position, sequence, want logits)"""
        batch = ll.llama_batch_init(len(rows), 0, 1)
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[i] = token
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = wanted
        if ll.llama_decode(self.context, batch) != 0:
            raise SystemExit("llama_decode failed")
        ll.llama_batch_free(batch)

    def feed_prompt(self, count, first, sequence):
        for begin in range(0, count, 2048):
            end = min(count, begin + 2048)
            self.feed([(token_at(i), first + i, sequence, i + 1 == count) for i in range(begin, end)])
        if count:
            ll.llama_get_logits_ith(self.context, -1)

    def prefill(self, count, depth, _):
        self.start(count, depth, 1)
        begin = time.perf_counter()
        self.feed_prompt(count, depth, 0)
        return time.perf_counter() - begin

    def decode(self, count, depth, sequences):
        self.start(count, depth, sequences)
        begin = time.perf_counter()
        for step in range(count):
            self.feed([(token_at(step), depth + step, sequence, True) for sequence in range(sequences)])
            ll.llama_get_logits_ith(self.context, -1)
        return time.perf_counter() - begin


def main():
    worker = Worker(sys.argv[1], int(sys.argv[2]))
    print("ready", flush=True)
    for line in sys.stdin:
        what, count, depth, sequences = (line.split() + ["0", "1"])[:4]
        run = worker.prefill if what == "prefill" else worker.decode
        print(run(int(count), int(depth), int(sequences)), flush=True)


if __name__ == "__main__":
    main()
