#!/usr/bin/env python3
"""Checks that a shared library exports the names of one namespace alone: `check_symbols.py NM LIBRARY NAMESPACE`."""

import re
import subprocess
import sys


def main():
    nm, library, namespace = sys.argv[1:]
    listing = subprocess.run([nm, "--dynamic", "--defined-only", "--demangle", library], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    symbols = [line.split(" ", 2)[2] for line in listing.splitlines()]
    prefix = rf"((typeinfo|typeinfo name|vtable) for )?{namespace}::"
    own = re.compile(prefix)
    inside = re.compile(prefix + "(gguf|kernels|sampling|tokenizer|chat|kv|model|session)::")  # the layers' namespaces
    strangers = [symbol for symbol in symbols if not own.match(symbol)]
    inner = [symbol for symbol in symbols if inside.match(symbol)]
    for symbol in strangers + inner:
        print(f"exported, but no part of the interface: {symbol}")
    print(f"{len(symbols)} symbols are exported")
    sys.exit(1 if strangers or inner or not symbols else 0)


if __name__ == "__main__":
    main()
