#!/usr/bin/env python3
"""Writes tokenizer_bpe.json and tokenizer_sentencepiece.json: small vocabularies, random texts, and the pieces
(sizes in bytes) and ids that the reference implementations, the packages `tokenizers` and `sentencepiece`, give for them.

    make_tokenizer_differential.py [--cases N] [--seed S] [--output FOLDER]

The texts hold only code points that are assigned in the Unicode version of Python's unicodedata, which must not be newer than
the 15.0 of the C++ side.
"""

import argparse
import io
import json
import pathlib
import random
import unicodedata

import sentencepiece
import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers, trainers

FOLDER = pathlib.Path(__file__).parent
LETTERS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level(False)])


PRE_TOKENIZERS = {
    "gpt-2": byte_level(True),
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level(True)]),
    "llama-bpe": split(LETTERS + r"|\p{N}{1,3}" + REST),
    "qwen2": split(LETTERS + r"|\p{N}" + REST),
}

CODE_POINTS = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
SPACES = [c for c in CODE_POINTS if chr(c).isspace()] + [0x85, 0x200B, 0x2060, 0xFEFF]
NUMBERS = [c for c in CODE_POINTS if unicodedata.category(chr(c))[0] == "N"]
MARKS = [c for c in CODE_POINTS if unicodedata.category(chr(c))[0] == "M"]


def random_text(rng, words):
    """Half words of the corpus, half noise that the rules of pre-tokenizers turn on."""
    parts = []
    for _ in range(rng.randint(1, 12)):
        kind = rng.randrange(12)
        if kind < 3:
            parts.append(rng.choice(words))
        elif kind < 5:
            parts.append(rng.choice([" ", "  ", "\n", "\r\n", "\t", " \n", "\n\n ", "   "]))
        elif kind == 5:
            parts.append(chr(rng.choice(SPACES)))
        elif kind == 6:
            parts.append(rng.choice("'’") + rng.choice(["s", "T", "re", "VE", "m", "LL", "d", "lL", "\u017f", "x", ""]))
        elif kind == 7:
            parts.append("".join(rng.choice("0123456789") for _ in range(rng.randint(1, 7))))
        elif kind == 8:
            parts.append(chr(rng.choice(NUMBERS)))
        elif kind == 9:
            parts.append(rng.choice("aé漢") + chr(rng.choice(MARKS)))
        elif kind == 10:
            parts.append("".join(rng.choice("!?.,;:-_()[]{}<>/\\|&%$#@*+=~^`\"'") for _ in range(rng.randint(1, 4))))
        else:
            parts.append("".join(chr(rng.choice(CODE_POINTS)) for _ in range(rng.randint(1, 3))))
    return "".join(parts)


def corpus():
    """The strings of the other goldens: prose, code and many scripts."""
    return [case["text"] for case in json.loads((FOLDER / "tokenizer_smollm2.json").read_text())["cases"]]


def bpe(lines, texts):
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = PRE_TOKENIZERS["gpt-2"]
    trainer = trainers.BpeTrainer(vocab_size=800, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    cases = []
    for text in texts:
        case = {"text": text}
        for name, pre_tokenizer in PRE_TOKENIZERS.items():
            tokenizer.pre_tokenizer = pre_tokenizer
            pieces = [len(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]  # a character for each byte
            case[name] = {"pieces": pieces, "ids": tokenizer.encode(text).ids}
        cases.append(case)
    return {"tokens": sorted(model["vocab"], key=model["vocab"].get), "merges": merges, "cases": cases}


def sentencepiece_model(lines, texts, space_prefix):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for text in lines for line in text.split("\n") if line), model_writer=model,
        model_type="bpe", vocab_size=900, character_coverage=0.98, byte_fallback=True, num_threads=1,
        normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=space_prefix,
        user_defined_symbols=["<b>", "<br>", "\n", "==", "==="], minloglevel=2)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())

    def kind(i):
        # The numbers of tokenizer.ggml.token_type.
        if processor.is_unknown(i):
            return 2
        if processor.is_control(i):
            return 3
        if processor.is_byte(i):
            return 6
        return 4 if processor.id_to_piece(i) in ("<b>", "<br>", "\n", "==", "===") else 1

    ids = range(processor.get_piece_size())
    return {"space_prefix": space_prefix, "tokens": [processor.id_to_piece(i) for i in ids], "types": [kind(i) for i in ids],
            "scores": [processor.get_score(i) for i in ids],
            "cases": [{"text": text, "ids": processor.encode(text)} for text in texts]}


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--output", type=pathlib.Path, default=FOLDER)
    arguments = parser.parse_args()
    assert tuple(map(int, unicodedata.unidata_version.split("."))) <= (15, 0, 0), "Python's Unicode is too new"
    rng = random.Random(arguments.seed)
    lines = corpus()
    words = [word for line in lines for word in line.split()] + ["<b>", "<br>", "<b", "=", "==", "====", "\u2581"]
    texts = [random_text(rng, words) for _ in range(arguments.cases)]
    write(arguments.output / "tokenizer_bpe.json", bpe(lines, texts))
    write(arguments.output / "tokenizer_sentencepiece.json",
          [sentencepiece_model(lines, texts, space_prefix) for space_prefix in (False, True)])


if __name__ == "__main__":
    main()
