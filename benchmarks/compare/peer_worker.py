#!/usr/bin/env python3
"""Does the work that compare.py names on its standard input with llama-cpp-python, or with ik-llama-cpp-python where only that
is installed, and answers with seconds."""
import ctypes
import sys
import time

try:
    import llama_cpp as ll

    BATCHED_FLASH_ATTENTION = True
    set_log = ll.llama_log_set
    log_callback = ll.llama_log_callback

    def remove_from(context, sequence, position):
        return ll.llama_memory_seq_rm(ll.llama_get_memory(context), sequence, position, -1)
except ImportError:
    import ik_llama_cpp._ctypes_api as ll
    from ik_llama_cpp._lib_loader import load_shared_library

    BATCHED_FLASH_ATTENTION = False
    library = load_shared_library()
    library.llama_kv_cache_seq_rm.argtypes = [ctypes.c_void_p] + [ctypes.c_int32] * 3
    library.llama_kv_cache_seq_rm.restype = ctypes.c_bool
    set_log = library.llama_log_set
    log_callback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)

    def remove_from(context, sequence, position):
        return library.llama_kv_cache_seq_rm(context, sequence, position, -1)


def token_at(i):
    return 100 + i % 1000


class Worker:
    def __init__(self, path, threads):
        ll.llama_backend_init()
        self.silence = log_callback(lambda level, text, data: None)
        set_log(self.silence, ctypes.c_void_p(0))
        self.model = ll.llama_model_load_from_file(path.encode(), ll.llama_model_default_params())
        self.threads = threads
        self.context = None
        self.held = None

    def start(self, count, depth, sequences):
        """A context whose sequences hold `depth` tokens; the one of the last call serves again if it was for the same."""
        if self.held == (count, depth, sequences):
            if all(remove_from(self.context, sequence, depth) for sequence in range(sequences)):
                return
        if self.context is not None:
            ll.llama_free(self.context)
        params = ll.llama_context_default_params()
        params.n_ctx = (depth + count + 8) * sequences
        params.n_batch = 2048
        params.n_ubatch = 512
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = self.threads
        if sequences > 1 and not BATCHED_FLASH_ATTENTION:
            params.flash_attn = False  # it ends the process with "GGML_ASSERT(S > 0) failed"
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
