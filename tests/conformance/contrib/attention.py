"""Attention, its masks and its caches."""
import numpy
from onnx import TensorProto

from contrib.one_node import NEWER, Case, case, heads_of, key_mask


def score_bias(c, batch, heads, queries, keys):
    """Of one sample's or head's for all; but for one head's of several samples, which ONNX Runtime 1.20 reads beyond its end."""
    return c.floats(*c.draw.choice([[1, 1], [1, heads], [batch, heads]] + ([[batch, 1]] if NEWER else [])), queries, keys)


@case
def MultiHeadAttention(draw):
    c = Case(draw, "MultiHeadAttention")
    batch, queries, heads, size = heads_of(c)
    value_size, causal = draw.choice([size, size, 3]), c.draw.randint(0, 1)
    keys = queries if causal or c.flip() else c.size(1, 7)
    form = draw.choice(["separate", "separate", "past", "cache"])
    past = c.size(1, 5) if form == "past" else 0
    if form != "separate":
        value_size = size
    c.put(c.floats(batch, queries, heads * size), fixed=(-1,))
    if form == "cache":
        c.put(c.floats(batch, heads, keys, size), fixed=(1, 3)).put(c.floats(batch, heads, keys, value_size), fixed=(1, 3))
    else:
        c.put(c.floats(batch, keys, heads * size), fixed=(-1,)).put(c.floats(batch, keys, heads * value_size), fixed=(-1,))
    c.maybe(c.floats(heads * (2 * size + value_size)), constant=c.flip(), fixed=(0,))
    # ONNX Runtime 1.20 takes masks for others where a call's keys are not as many as its queries.
    is_masked = NEWER or queries == keys
    mask = key_mask(c, batch, queries, past + keys, ["none", "none", "by_key", "by_query"] + (["lengths"] if not past else [])) if is_masked else None
    c.put(mask).maybe(score_bias(c, batch, heads, queries, past + keys), fixed=(0, 1, 2, 3))
    if form == "past":
        c.put(c.floats(batch, heads, past, size), fixed=(1, 3)).put(c.floats(batch, heads, past, size), fixed=(1, 3))
        c.outputs = 3
    elif c.flip(0.3) and NEWER:
        c.outputs, c.types[3] = [0, 3], TensorProto.FLOAT
    if mask is None and c.flip(0.3):
        c.set(scale=0.3)
    if c.flip(0.3):
        c.set(mask_filter_value=-1000.0)
    return c.set(num_heads=heads, unidirectional=causal)


@case
def Attention(draw):
    c = Case(draw, "Attention")
    batch, queries, heads, size = heads_of(c)
    width, causal, past = c.size(1, 20), c.draw.randint(0, 1), c.draw.choice([0, 0, 3])
    sizes = [heads * size, heads * size, heads * (size if past else draw.choice([size, 3]))]
    c.put(c.floats(batch, queries, width), fixed=(-1,)).put(c.floats(width, sum(sizes), low=-0.5, high=0.5), constant=c.flip(), fixed=(0, 1))
    c.maybe(c.floats(sum(sizes)), chance=0.7 if NEWER else 1, fixed=(0,))
    form = draw.choice(["none", "by_key", "by_query", "lengths", "ends"])
    mask = key_mask(c, batch, queries, past + queries, [form], causal)
    c.put(mask, fixed=(0,) if form == "ends" else ())
    if form == "ends":  # whether it holds starts follows from its shape
        c.graph_inputs[0].type.tensor_type.shape.dim[0].dim_value = batch
    c.put(c.floats(2, batch, heads, past, size), fixed=(0, 2, 4)) if past else c.put(None)
    bias = score_bias(c, batch, heads, queries, queries)
    c.put(bias if not past and c.flip() else None, fixed=(0, 1, 2, 3))
    c.outputs = 2 if past else 1
    if sizes[0] != sizes[2]:
        c.set(qkv_hidden_sizes=sizes)
    return c.set(num_heads=heads, unidirectional=causal)


def turns(c, places, pairs):
    angles = c.floats(places, pairs, low=-3, high=3)
    return numpy.cos(angles), numpy.sin(angles)


@case
def RotaryEmbedding(draw):
    c = Case(draw, "RotaryEmbedding")
    batch, tokens, heads, size = heads_of(c)
    part = draw.choice([size, size, max(2, size // 2)])
    flat = part < size or c.flip()
    c.put(c.floats(*([batch, tokens, heads * size] if flat else [batch, heads, tokens, size])), fixed=(-1,))
    c.put(c.whole(numpy.int64, *draw.choice([[1], [batch, tokens]]), low=0, high=14))
    for table in turns(c, 20 + tokens, part // 2):
        c.put(table, fixed=(0, 1))
    if part < size:
        c.set(num_heads=heads, rotary_embedding_dim=part)
    return c.set(interleaved=c.draw.randint(0, 1))


def cached(draw, prompt):
    """GroupQueryAttention with a first prompt, padded, or with tokens behind a cache."""
    c = Case(draw, "GroupQueryAttention")
    batch, key_heads, size = c.size(1, 3), c.size(1, 2), draw.choice([16, 32])
    heads = key_heads * c.size(1, 3)
    room, total = draw.choice([0, 3]), c.size(2, 9)
    tokens = total if prompt else (1 if batch > 1 or c.flip() else c.size(1, total - 1))
    lengths = c.whole(numpy.int32, batch, low=1 if prompt else tokens, high=total)
    lengths[c.draw.randrange(batch)] = total
    packed, rotary = c.flip(), c.draw.randint(0, 1)
    if packed:
        c.put(c.floats(batch, tokens, (heads + 2 * key_heads) * size), fixed=(-1,)).put(None).put(None)
    else:
        c.put(c.floats(batch, tokens, heads * size), fixed=(-1,)).put(c.floats(batch, tokens, key_heads * size), fixed=(-1,)).put(c.floats(batch, tokens, key_heads * size), fixed=(-1,))
    capacity = total + room if prompt and c.flip() else 0
    capacity = capacity if prompt else max(total - tokens, 1) if c.flip() else total + room
    if not prompt and capacity < total:  # the samples' pasts are no longer than the cache
        lengths = numpy.minimum(lengths, capacity + tokens).astype(numpy.int32)
    for _ in range(2):
        c.put(c.floats(batch, key_heads, capacity, size), fixed=(1, 3)) if capacity else c.put(None)
    c.put((lengths - 1).astype(numpy.int32)).put(numpy.array(total, numpy.int32), constant=c.flip())
    for table in turns(c, 20, size // 2):
        c.put(table if rotary else None, fixed=(0, 1))
    c.put(c.whole(numpy.int64, batch, tokens, low=0, high=10) if NEWER and rotary and c.flip(0.3) else None)
    c.put(score_bias(c, batch, heads, tokens, total) if NEWER and c.flip(0.3) else None, fixed=(0, 1, 2, 3))
    c.outputs = 3
    rows = numpy.arange(tokens)[None, :, None] < lengths[:, None, None] if prompt else numpy.ones((1, 1, 1), bool)
    kept = numpy.arange(max(total, capacity))[None, None, :, None] < lengths[:, None, None, None]
    c.masks = {0: rows, 1: kept, 2: kept}
    if NEWER and c.flip(0.3):  # 1.20 sees a key more
        c.set(local_window_size=draw.choice([1, 2, 5]))
    if c.flip(0.3):
        c.set(softcap=2.0)
    if c.flip(0.3):
        c.set(smooth_softmax=1)
    if c.flip(0.3):
        c.set(scale=0.2)
    return c.set(num_heads=heads, kv_num_heads=key_heads, do_rotary=rotary, rotary_interleaved=c.draw.randint(0, 1) if rotary else 0)


@case
def GroupQueryAttention_prompt(draw):
    return cached(draw, True)


@case
def GroupQueryAttention_decode(draw):
    return cached(draw, False)
