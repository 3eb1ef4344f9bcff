#!/usr/bin/env python3
"""What llvm-mca says of each main loop: cycles for one step of K, and the share of the CPU's peak of multiply-adds.

    python3 tests/avx512/mca.py BUILD_DIR [--isa avx512] [--cpus znver4,...] [--update docs/avx512.md]

Needs llvm-mca-19 (Debian: llvm-19) and the program dyn-avx512-check. Without --update the table is printed. The unrolled loop over K is
taken from the assembly text as it is; operands are in L1, as llvm-mca has no other memory. The peak is the model's own: independent
multiply-adds of the same width.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

CPUS = {"avx512": "znver4,skylake-avx512,icelake-server,sapphirerapids", "avx2": "znver3,haswell,skylake,alderlake"}
REGISTER = {"avx512": "zmm", "avx2": "ymm"}
LANES = {"avx512": 16, "avx2": 8}
BEGIN, END = "<!-- tiles: begin -->", "<!-- tiles: end -->"
ITERATIONS = 300


def hot_loop(assembly):
    """The lines of the loop with the most multiply-adds: from a label to the jump back to it."""
    lines = assembly.splitlines()
    labels = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    best = []
    for i, line in enumerate(lines):
        jump = re.match(r"\s+j\w+\s+(\S+)$", line)
        if not jump or labels.get(jump[1], i) >= i:
            continue
        body = lines[labels[jump[1]] + 1 : i + 1]
        if sum("vfmadd" in text for text in body) > sum("vfmadd" in text for text in best):
            best = body
    return best


def cycles(mca, cpu, lines):
    """Cycles of one iteration, in the long run."""
    text = "\n".join(line for line in lines if not re.match(r"\s*(\.|#|j\w+\s)", line))
    command = [mca, "-mtriple=x86_64", f"-mcpu={cpu}", f"-iterations={ITERATIONS}", "-instruction-info=0", "-resource-pressure=0"]
    result = subprocess.run(command, input=text + "\n", capture_output=True, text=True, check=True)
    return int(re.search(r"Total Cycles:\s+(\d+)", result.stdout)[1]) / ITERATIONS


def peak(mca, cpu, register, chains):
    """Multiply-adds that the model starts in a cycle."""
    lines = [f"vfmadd231ps %{register}{chains}, %{register}{chains + 1}, %{register}{i}" for i in range(chains)]
    return chains / cycles(mca, cpu, lines)


def table(check, mca, isa, cpus):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([check, "--isa", isa, "--assembly", folder], check=True)
        loops = {path.stem: hot_loop(path.read_text()) for path in pathlib.Path(folder).glob("*.s")}
    peaks = {cpu: peak(mca, cpu, REGISTER[isa], 24 if isa == "avx512" else 12) for cpu in cpus}
    rows = ["| tile | multiply-adds a step | " + " | ".join(cpus) + " |", "|" + "---|" * (len(cpus) + 2)]
    rows.append("| *peak, multiply-adds a cycle* | | " + " | ".join(f"{peaks[cpu]:.1f}" for cpu in cpus) + " |")
    for tile in sorted(loops, key=lambda name: [int(part) for part in reversed(name.split("x"))]):
        height, columns = (int(part) for part in tile.split("x"))
        step = height * columns // LANES[isa]
        unroll = sum("vfmadd" in line for line in loops[tile]) / step
        cells = []
        for cpu in cpus:
            spent = cycles(mca, cpu, loops[tile]) / unroll
            cells.append(f"{spent:.2f} ({step / peaks[cpu] / spent:.0%})")
        rows.append(f"| {tile.replace('x', ' × ')} | {step} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--isa", default="avx512", choices=CPUS)
    parser.add_argument("--cpus")
    parser.add_argument("--mca", default="llvm-mca-19")
    parser.add_argument("--update", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    cpus = (arguments.cpus or CPUS[arguments.isa]).split(",")
    text = table(arguments.build.resolve() / "tests/dyn-avx512-check", arguments.mca, arguments.isa, cpus)
    if arguments.update is None:
        print(text)
        return
    page = arguments.update.read_text()
    if BEGIN not in page or END not in page:
        sys.exit(f"{arguments.update} has no lines {BEGIN} and {END}")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    arguments.update.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


main()
