#!/usr/bin/env python3
"""Evaluates the committed weights with PyTorch on the committed texts.

    python3 check.py [--probabilities FILE] [--weights FILE] [--file FILE]

Prints the accuracy on sentences.tsv and on heldout.tsv; every line is run by
itself, without padding, as the C++ program does.  --probabilities writes one
line for each sentence, `code<TAB>probability` with six digits, to be compared
with the output of the C++ program.  --file classifies the lines of another
file in place of the two and prints them in the same form; an empty line, which
the network cannot have, is `und` (undetermined), as in the C++ program.
"""

import argparse
import collections
import os

import torch
from safetensors.torch import load_file

import model

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.dirname(HERE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--probabilities", metavar="FILE")
    parser.add_argument("--weights", default=os.path.join(FOLDER, "language_id.safetensors"))
    parser.add_argument("--file")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    with open(os.path.join(FOLDER, "labels.txt")) as f:
        labels = f.read().split()
    p = load_file(args.weights)
    expected = model.shapes(len(labels))
    if {k: tuple(v.shape) for k, v in p.items()} != expected:
        raise SystemExit("the weights do not fit model.py")

    def best(line):
        probability, label = model.classify(p, line).max(0)
        return labels[label], probability.item()

    if args.file:
        with open(args.file, "rb") as f:
            for line in f.read().removesuffix(b"\n").split(b"\n"):
                line = line.removesuffix(b"\r")
                print("%s\t%.6f" % (best(line) if line else ("und", 0.0)))
        return

    print(f"{sum(v.numel() for v in p.values())} parameters, "
          f"{model.flops(100, len(labels)) / 1e6:.1f} MFLOP for 100 bytes")
    for name in ("sentences", "heldout"):
        right, count, found = collections.Counter(), collections.Counter(), []
        mistakes = []
        with open(os.path.join(FOLDER, name + ".tsv"), encoding="utf-8") as f:
            for row in f:
                code, line = row.rstrip("\n").split("\t")
                answer = best(line.encode())
                found.append(answer)
                count[code] += 1
                right[code] += answer[0] == code
                if answer[0] != code:
                    mistakes.append((code, *answer, line))
        total, good = sum(count.values()), sum(right.values())
        print(f"{name}: {good} of {total} right, {100 * good / total:.2f} %")
        print("  " + "  ".join(f"{c} {right[c]}/{count[c]}" for c in labels))
        if name == "sentences":
            for m in mistakes:
                print("  %s as %s (%.2f): %s" % m)
            if args.probabilities:
                with open(args.probabilities, "w") as f:
                    for answer in found:
                        f.write("%s\t%.6f\n" % answer)


if __name__ == "__main__":
    main()
