#!/usr/bin/env python3
"""Trains examples/language_id on what prepare.py made.

    python3 train.py --work DIR [--steps N] [--out FOLDER]

Writes language_id.safetensors, labels.txt, heldout.tsv and heldout_pages.txt
(the page of each line of heldout.tsv) to FOLDER, by default the folder above
this one, and prints the accuracy on the held-out lines.  Needs torch, numpy
and safetensors.  Runs on a CPU; seeds are fixed.
"""

import argparse
import collections
import os
import random
import time
import unicodedata

# On a busy machine, threads that spin while they wait cost more than they save.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

import model

HERE = os.path.dirname(os.path.abspath(__file__))
HELDOUT = 100        # lines of a language in heldout.tsv
SHORTEST = 20        # bytes from which a held-out line counts
CJK = ("ja", "zh")


def read(path, pages=None):
    """code -> lines; pages, a dictionary, gets line -> page."""
    by_code = collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for row in f:
            code, page, line = row.rstrip("\n").split("\t")
            by_code[code].append(line)
            if pages is not None:
                pages[line] = page
    return by_code


def augment(rng, code, lines):
    """One training text of a language: lines as they stand, or joined, cut and changed, so that
    the network learns the language and not the looks of manual pages."""
    i = rng.randrange(len(lines))
    text = lines[i]
    cjk = code in CJK
    space = "" if cjk else " "
    if rng.random() < 0.2:
        for _ in range(rng.choice((1, 1, 2, 3))):
            text += space + rng.choice(lines)
    if code == "ro" and rng.random() < 0.6:          # both ways to write s and t with a mark below
        text = text.translate(str.maketrans("\u015f\u0163\u015e\u0162", "\u0219\u021b\u0218\u021a"))
    units = list(text) if cjk else text.split()
    if rng.random() < 0.3:                           # words only, no options, paths, numbers
        kept = [u for u in units if u.strip(".,;:!?()\"'\u00ab\u00bb\u201e\u201c\u201d")
                .replace("-", "").replace("'", "").replace("\u2019", "").isalpha()
                or unicodedata.combining(u[-1])]
        units = kept or units
    if rng.random() < 0.5 and len(units) > 1:        # a part
        low, high = (5, 40) if cjk else (2, 14)
        size = min(len(units), rng.randint(low, high))
        start = rng.randrange(len(units) - size + 1)
        units = units[start:start + size]
    if rng.random() < 0.2 and len(units) > 4:        # words left out
        units = [u for u in units if rng.random() > 0.15] or units
    if rng.random() < 0.1 and not cjk:               # another order
        rng.shuffle(units)
    text = space.join(units)
    if rng.random() < 0.25:                          # no punctuation
        text = "".join(c for c in text if c.isalnum() or c == " " or unicodedata.combining(c)) or text
    r = rng.random()
    if r < 0.06:
        text = text.upper()
    elif r < 0.2:
        text = text.lower()
    elif r < 0.25:
        text = text.title()
    elif r < 0.5:
        text = text[:1].upper() + text[1:]
    if rng.random() < 0.4:
        text = text.rstrip(" .,;:") + (rng.choice("\u3002\uff1f\uff01") if cjk else rng.choice("...?!"))
    data = text.encode()
    limit = 256 if rng.random() < 0.3 else 128
    if len(data) > limit:
        start = rng.randrange(len(data) - limit + 1)
        data = data[start:start + limit]
        while data and 0x80 <= data[0] < 0xc0:       # not inside of a character
            data = data[1:]
        data = data.decode(errors="ignore").encode()
    if rng.random() < 0.02:                          # very short
        data = data[:rng.randint(1, 12)]
    return data or b"\n"


def batch(texts):
    longest = max(len(t) for t in texts)
    ids = torch.zeros(len(texts), longest, dtype=torch.int64)
    present = torch.zeros(len(texts), longest, dtype=torch.bool)
    for row, t in enumerate(texts):
        ids[row, :len(t)] = torch.frombuffer(bytearray(t), dtype=torch.uint8)
        present[row, :len(t)] = True
    return ids, present


def evaluate(p, by_code, labels, shortest=SHORTEST):
    """code -> (right, all), and the pairs of mistakes."""
    right, mistakes = {}, collections.Counter()
    for code in labels:
        texts = sorted((b for b in (t.encode() for t in by_code[code]) if len(b) >= shortest), key=len)
        good = 0
        for i in range(0, len(texts), 64):
            ids, present = batch(texts[i:i + 64])
            with torch.no_grad():
                best = model.logits(p, ids, present).argmax(-1)
            for b in best.tolist():
                good += labels[b] == code
                if labels[b] != code:
                    mistakes[code, labels[b]] += 1
        right[code] = (good, len(texts))
    return right, mistakes


def share(right):
    return sum(g for g, _ in right.values()) / max(1, sum(n for _, n in right.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", required=True, help="folder with train.tsv, valid.tsv, test.tsv")
    parser.add_argument("--out", default=os.path.dirname(HERE))
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    rng = random.Random(1)

    train = read(os.path.join(args.work, "train.tsv"))
    valid = read(os.path.join(args.work, "valid.tsv"))
    pages = {}
    test = read(os.path.join(args.work, "test.tsv"), pages)
    labels = sorted(train)
    p = {k: v.requires_grad_() for k, v in model.initial(len(labels)).items()}
    count = sum(v.numel() for v in p.values())
    print(f"{len(labels)} languages: {' '.join(labels)}")
    print(f"{count} parameters, {4 * count} bytes, "
          f"{model.flops(100, len(labels)) / 1e6:.1f} MFLOP for 100 bytes", flush=True)

    tables = [v for k, v in p.items() if k.startswith("embed.") and k != "embed.project"]
    others = [v for k, v in p.items() if not k.startswith("embed.") or k == "embed.project"]
    optimizer = torch.optim.AdamW([
        {"params": tables, "lr": 4e-3, "weight_decay": 0.01},
        {"params": others, "lr": 1.5e-3, "weight_decay": 0.01}], betas=(0.9, 0.98), foreach=True)
    warm = 300
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warm, max(0.01, (args.steps - s) / (args.steps - warm))))

    # All languages are drawn equally often, however many lines they have.
    size, group = 64, 16
    pool, began, total = [], time.time(), 0.0
    for step in range(args.steps):
        if not pool:                                 # texts of like length to one batch
            codes = rng.choices(range(len(labels)), k=size * group)
            drawn = sorted(((augment(rng, labels[c], train[labels[c]]), c) for c in codes),
                           key=lambda t: len(t[0]))
            pool = [drawn[i:i + size] for i in range(0, len(drawn), size)]
            rng.shuffle(pool)
        chosen = pool.pop()
        ids, present = batch([t for t, _ in chosen])
        out = model.logits(p, ids, present, dropout=0.1, gram_dropout=0.15)
        loss = F.cross_entropy(out, torch.tensor([c for _, c in chosen]), label_smoothing=0.02)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(p.values()), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        if (step + 1) % 200 == 0:
            line = f"step {step + 1}  loss {total / 200:.4f}  {time.time() - began:.0f} s"
            total = 0.0
            if (step + 1) % 2000 == 0:
                line += f"  valid {100 * share(evaluate(p, valid, labels)[0]):.2f} %"
            print(line, flush=True)

    p = {k: v.detach().contiguous() for k, v in p.items()}
    path = os.path.join(args.out, "language_id.safetensors")
    save_file(p, path, metadata={
        "format": "pt", "labels": " ".join(labels),
        "origin": "trained by examples/language_id/train/train.py on manual pages in Debian's "
                  "packages; origin and licence: examples/language_id/MODEL.md"})
    with open(os.path.join(args.out, "labels.txt"), "w") as f:
        f.write("\n".join(labels) + "\n")
    pick = random.Random(2)
    with (open(os.path.join(args.out, "heldout.tsv"), "w", encoding="utf-8") as f,
          open(os.path.join(args.out, "heldout_pages.txt"), "w", encoding="utf-8") as g):
        for code in labels:
            rows = [t for t in test[code] if len(t.encode()) >= SHORTEST]
            for t in pick.sample(rows, min(HELDOUT, len(rows))):
                f.write(f"{code}\t{t}\n")
                g.write(pages[t] + "\n")

    right, mistakes = evaluate(p, test, labels)
    print(f"held-out lines of {SHORTEST} bytes or more")
    for code in labels:
        good, n = right[code]
        print(f"  {code}  {good:5} of {n:5}  {100 * good / n:6.2f} %")
    print(f"  all {100 * share(right):.2f} %, mean of the languages "
          f"{100 * sum(g / n for g, n in right.values()) / len(right):.2f} %")
    print("  most frequent mistakes: " + ", ".join(
        f"{a} as {b} {n}" for (a, b), n in mistakes.most_common(12)))
    print(f"{os.path.getsize(path)} bytes, {time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
