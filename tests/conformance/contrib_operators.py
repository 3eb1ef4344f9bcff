#!/usr/bin/env python3
"""Operators of ONNX Runtime's domain com.microsoft, and inputs and Scans that a file describes badly or in an old way: dyn beside ONNX Runtime, each at random shapes, attributes
and data.

  contrib_operators.py --dynrun build/release/bin/dynrun [--rounds 3] [--seed 1] [--operators FusedMatMul Attention ...]

Every case is a model of one node, whose inputs are inputs of the graph with open dims, or constants. Floats may differ by 1e-5 of the greatest magnitude of the output (more where
the case says why). Of quantised elements 99.9 % may differ by one step, and no more. Prints "ok NAME" and "failed NAME: why" lines; a case draws from its own seed, NAME's number,
so that --operators draws the same as all do.

Needs, from PyPI: onnx, onnxruntime and numpy.
"""
import argparse
import pathlib
import sys

from contrib import attention, places, products, quantised, standard  # each registers its cases
from contrib.compared import Difference, run
from contrib.one_node import CASES


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=1, help="cases of each operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operators", nargs="*", help="all without it")
    parser.add_argument("--keep", help="a folder that keeps the last case's model and data")
    arguments = parser.parse_args()
    failures = 0
    for name in arguments.operators or CASES:
        for number in range(arguments.rounds):
            try:
                run(name, number, arguments)
                print(f"ok {name}/{number}", flush=True)
            except Difference as difference:
                failures += 1
                print(f"failed {name}/{number}: {difference}", flush=True)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
