"""The language_id network in PyTorch.

The parameters have the names, shapes and layouts of language_id.safetensors
and language_id.dyn: a matrix multiplies from the right, [inputs, outputs].
"""

import math

import torch
import torch.nn.functional as F

WIDTH = 96
HEADS = 4
HIDDEN = 192
LAYERS = 2
GRAM_WIDTH = 32
LONGEST = 1024                      # bytes of a line that are looked at
# n-gram length -> number of buckets (primes)
BUCKETS = {2: 2039, 3: 6143, 4: 8191, 5: 8191}
# what the byte, the one before it, ... is multiplied with in the hash (primes)
FACTORS = [1, 7919, 104729, 1299709, 15485863]


def shapes(labels):
    """Name -> shape of all parameters."""
    s = {"embed.byte": (256, WIDTH)}
    for n, buckets in BUCKETS.items():
        s[f"embed.gram{n}"] = (buckets, GRAM_WIDTH)
    s["embed.project"] = (GRAM_WIDTH * len(BUCKETS), WIDTH)
    for i in range(LAYERS):
        p = f"layer{i}."
        s[p + "norm1.weight"] = s[p + "norm1.bias"] = (WIDTH,)
        for name in ("q", "k", "v", "o"):
            s[p + name + ".weight"] = (WIDTH, WIDTH)
            s[p + name + ".bias"] = (WIDTH,)
        s[p + "norm2.weight"] = s[p + "norm2.bias"] = (WIDTH,)
        s[p + "up.weight"], s[p + "up.bias"] = (WIDTH, HIDDEN), (HIDDEN,)
        s[p + "down.weight"], s[p + "down.bias"] = (HIDDEN, WIDTH), (WIDTH,)
    s["norm.weight"] = s["norm.bias"] = (WIDTH,)
    s["head.weight"], s["head.bias"] = (WIDTH, labels), (labels,)
    return s


def initial(labels):
    """Parameters before training, from torch's current seed."""
    p = {}
    for name, shape in shapes(labels).items():
        if ".norm" in name or name.startswith("norm"):
            p[name] = torch.ones(shape) if name.endswith("weight") else torch.zeros(shape)
        elif name.endswith("bias"):
            p[name] = torch.zeros(shape)
        elif name.startswith("embed.") and name != "embed.project":
            p[name] = torch.randn(shape) * 0.1
        else:
            p[name] = torch.randn(shape) / math.sqrt(shape[0])
            if name.endswith((".o.weight", ".down.weight")):
                p[name] /= math.sqrt(2 * LAYERS)
    return p


def grams(ids):
    """ids i64[B, S] -> {n: bucket numbers i64[B, S]}; ASCII capitals count as small letters."""
    capital = ids.clamp(65, 90) == ids
    c = torch.where(capital, ids + 32, ids)
    key, found = c * FACTORS[0], {}
    for n in range(2, max(BUCKETS) + 1):
        c = F.pad(c, (1, 0))[:, :-1]
        key = key + c * FACTORS[n - 1]
        if n in BUCKETS:
            found[n] = key % BUCKETS[n]
    return found


def logits(p, ids, present=None, dropout=0.0, gram_dropout=0.0):
    """ids i64[B, S] -> f32[B, labels].  present: bool[B, S], False where a row is padded
    (training only); None when every row is full.  The two dropouts are for training."""
    rows, length = ids.shape
    parts = []
    for n, bucket in grams(ids).items():
        e = F.embedding(bucket, p[f"embed.gram{n}"])
        if gram_dropout:
            e = e * (torch.rand(rows, 1, 1) >= gram_dropout)
        parts.append(e)
    x = F.embedding(ids, p["embed.byte"]) + torch.cat(parts, -1) @ p["embed.project"]
    x = F.dropout(x, dropout, dropout > 0)
    mask = None if present is None else present[:, None, None, :]

    def heads(t):
        return t.view(rows, length, HEADS, WIDTH // HEADS).transpose(1, 2)

    for i in range(LAYERS):
        w = f"layer{i}."
        h = F.layer_norm(x, (WIDTH,), p[w + "norm1.weight"], p[w + "norm1.bias"], 1e-5)
        q, k, v = (heads(torch.addmm(p[w + s + ".bias"], h.flatten(0, 1), p[w + s + ".weight"]))
                   for s in ("q", "k", "v"))
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        a = a.transpose(1, 2).reshape(rows, length, WIDTH)
        x = x + F.dropout(a @ p[w + "o.weight"] + p[w + "o.bias"], dropout, dropout > 0)
        h = F.layer_norm(x, (WIDTH,), p[w + "norm2.weight"], p[w + "norm2.bias"], 1e-5)
        h = F.gelu(h @ p[w + "up.weight"] + p[w + "up.bias"])
        x = x + F.dropout(h @ p[w + "down.weight"] + p[w + "down.bias"], dropout, dropout > 0)
    x = F.layer_norm(x, (WIDTH,), p["norm.weight"], p["norm.bias"], 1e-5)
    if present is None:
        x = x.mean(1)
    else:
        x = (x * present[..., None]).sum(1) / present.sum(1, keepdim=True)
    return x @ p["head.weight"] + p["head.bias"]


def classify(p, line):
    """Probabilities of one line (bytes, not empty), without padding."""
    ids = torch.tensor([list(line[:LONGEST])], dtype=torch.int64)
    with torch.no_grad():
        return torch.softmax(logits(p, ids), -1)[0]


def flops(length, labels):
    """Two for each multiply-add of all matrix products and of attention, for one line."""
    position = GRAM_WIDTH * len(BUCKETS) * WIDTH
    position += LAYERS * (4 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN + 2 * length * WIDTH)
    return 2 * (length * position + WIDTH * labels)
