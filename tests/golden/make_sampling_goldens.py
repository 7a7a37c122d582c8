"""Writes tests/golden/sampling.json: what transformers' logits processors keep of random logits. Needs torch and transformers.

Run: python tests/golden/make_sampling_goldens.py > tests/golden/sampling.json
"""
import json
import random

import torch
import transformers
from transformers.generation import logits_process as lp

VOCABULARY = 48


def random_logits(rng, scale):
    """Distinct multiples of 1/4096, exact as floats and in the file."""
    units = rng.sample(range(-int(scale * 4096), int(scale * 4096)), VOCABULARY)
    return units, torch.tensor([[u / 4096 for u in units]], dtype=torch.float32)


def kept(processors, history, logits):
    ids = torch.tensor([history], dtype=torch.long)
    for processor in processors:
        logits = processor(ids, logits)
    return [i for i, v in enumerate(logits[0].tolist()) if v != float("-inf")]


def main():
    rng = random.Random(2024)
    cases = []
    for _ in range(40):
        units, logits = random_logits(rng, rng.choice([1, 3, 6]))
        history = [rng.randrange(VOCABULARY) for _ in range(12)]
        k, p = rng.randrange(1, VOCABULARY), round(rng.uniform(0.05, 0.98), 3)
        min_p, temperature = round(rng.uniform(0.005, 0.4), 3), round(rng.uniform(0.3, 2), 3)
        penalty = round(rng.uniform(0.8, 1.8), 3)
        chain = [lp.RepetitionPenaltyLogitsProcessor(penalty), lp.TemperatureLogitsWarper(temperature),
                 lp.TopKLogitsWarper(k), lp.TopPLogitsWarper(p), lp.MinPLogitsWarper(min_p), lp.TypicalLogitsWarper(p)]
        penalised = chain[0](torch.tensor([history]), logits.clone())
        cases.append({
            "logits": units, "history": history, "k": k, "p": p, "min_p": min_p, "temperature": temperature,
            "penalty": penalty,
            "top_k": kept([chain[2]], history, logits), "top_p": kept([chain[3]], history, logits),
            "min_p_kept": kept([chain[4]], history, logits), "typical": kept([chain[5]], history, logits),
            "chain": kept(chain, history, logits.clone()),
            "penalised": [round(v, 6) for v in penalised[0].tolist()],
        })
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    print('{"source":"transformers %s, torch %s","unit":4096,"cases":[\n%s\n]}'
          % (transformers.__version__, torch.__version__, lines))


if __name__ == "__main__":
    main()
