#!/usr/bin/env python3
"""Times attention in dyn and PyTorch's scaled_dot_product_attention, in alternating slices, and prints the ratio.

Both sides run in processes of their own, on the CPU, at the same threads, in f32, on dense q, k, v of [B, H, S, D]. A case is
B x H x queries x keys x depth, followed by "causal" (the last query sees the last key) or "mask" (one additive value for each key).

Needs, from PyPI: numpy torch.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CASES = [
    "1x12x1x4096x64", "1x12x1x1024x64", "1x32x1x2048x128", "4x8x1x512x40", "1x2x1x4096x64", "8x12x1x4096x64",
    "1x12x4x4096x64", "1x12x16x4096x64", "1x12x16x4096x64 causal",
    "1x12x128x128x64", "8x12x128x128x64 mask", "1x12x512x512x64", "1x12x512x512x64 mask", "1x12x512x512x64 causal",
    "1x16x384x384x80", "2x8x256x256x40", "1x8x1024x1024x128 causal", "1x4x4096x4096x64", "1x4x4096x4096x64 causal",
    "1x12x53x53x64 mask", "1x12x7x7x64", "1x16x77x77x80 causal",
]


def parsed(case):
    words = case.split()
    return [int(size) for size in words[0].split("x")], words[1:]


def graph_text(case):
    (batch, heads, queries, keys, depth), words = parsed(case)
    mask = f", mask: f32[{batch}, 1, 1, T]" if "mask" in words else ""
    return f"""dyn 1
dim S in 1..65536
dim T in 1..65536
graph attention(q: f32[{batch}, {heads}, S, {depth}], k: f32[{batch}, {heads}, T, {depth}], v: f32[{batch}, {heads}, T, {depth}]{mask}) -> (y: f32[{batch}, {heads}, S, {depth}]) {{
  y = attention(q, k, v{", mask" if mask else ""}) causal={"true" if "causal" in words else "false"}
  return y
}}
"""


def serve(threads):
    """One line in, a case and seconds; one line out, the median in ms."""
    import torch

    torch.set_num_threads(threads)
    attend = torch.nn.functional.scaled_dot_product_attention
    print(torch.__version__, flush=True)
    for line in sys.stdin:
        case, seconds = line.rsplit(" ", 1)
        (batch, heads, queries, keys, depth), words = parsed(case)
        q = torch.randn(batch, heads, queries, depth)
        k, v = torch.randn(batch, heads, keys, depth), torch.randn(batch, heads, keys, depth)
        options = {}
        if "mask" in words:
            options["attn_mask"] = torch.ones(batch, 1, 1, keys)
        if "causal" in words and queries == keys:
            options["is_causal"] = True
        elif "causal" in words:
            options["attn_mask"] = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
        samples = []
        with torch.inference_mode():
            for _ in range(3):
                attend(q, k, v, **options)
            end = time.perf_counter() + float(seconds)
            while len(samples) < 3 or time.perf_counter() < end:
                start = time.perf_counter()
                attend(q, k, v, **options)
                samples.append(time.perf_counter() - start)
        print(statistics.median(samples) * 1e3, flush=True)


class Peer:
    def __init__(self, threads):
        command = [sys.executable, __file__, "--serve", "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self.process.stdout.readline().strip()

    def median_ms(self, case, seconds):
        self.process.stdin.write(f"{case} {seconds}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def dyn_ms(options, threads, case, path):
    (_, _, queries, keys, _), _ = parsed(case)
    path.write_text(graph_text(case))
    command = [options.dynrun, "bench", str(path), "--skip-load", "--dims", f"S={queries}", "--dims", f"T={keys}", "--threads", str(threads),
               "--warmup", "0.05", "--duration", str(options.slice), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)[0]["median_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun", help="the program (default: from PATH)")
    parser.add_argument("--cases", nargs="+", default=CASES)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="slices of each side")
    parser.add_argument("--slice", type=float, default=0.1, help="seconds of one slice")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.threads[0])
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "attention.dyn"
        for threads in options.threads:
            peer = Peer(threads)
            if threads == options.threads[0]:
                print(f"PyTorch {peer.version}, {os.cpu_count()} CPUs, f32\n| B x H x queries x keys x depth | threads | dyn ms | PyTorch ms | ratio |\n|---|---|---|---|---|")
            for case in options.cases:
                ours, theirs = [], []
                for _ in range(options.rounds):
                    theirs.append(peer.median_ms(case, options.slice))
                    time.sleep(0.05)  # The peer's threads spin for a while after a run.
                    ours.append(dyn_ms(options, threads, case, path))
                mine, other = statistics.median(ours), statistics.median(theirs)
                ratios.append(other / mine)
                print(f"| {case} | {threads} | {mine:.3f} | {other:.3f} | {other / mine:.2f} |", flush=True)
            peer.close()
    print(f"geometric mean {math.exp(statistics.mean(math.log(ratio) for ratio in ratios)):.2f}, worst {min(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
