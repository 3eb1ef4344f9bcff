"""Operators of places and shapes."""
import numpy

from contrib.one_node import NEWER, Case, case, shape_of


def ExpandDims(draw):
    c = Case(draw, "ExpandDims")
    shape = shape_of(c)
    return c.put(c.floats(*shape)).put(numpy.int32(draw.randint(-1, len(shape))), constant=True)


if NEWER:
    case(ExpandDims)  # ONNX Runtime 1.20 crashes at any axis


@case
def Unique(draw):
    c = Case(draw, "Unique")
    c.outputs = 3
    return c.put(c.whole(numpy.int64, c.size(1, 12), low=-3, high=3).astype(numpy.float32))


@case
def Range(draw):
    c = Case(draw, "Range")
    dtype, constant = draw.choice([numpy.float32, numpy.int32, numpy.int64]), c.flip()
    delta = draw.choice([None, 2, -3])
    ends = (2, 11) if delta != -3 else (9, -4)
    for each in ends:
        c.put(numpy.array(each, dtype), constant=constant)
    return c.put(None if delta is None else numpy.array(delta, dtype), constant=constant)


@case
def NGramRepeatBlock(draw):
    c = Case(draw, "NGramRepeatBlock")
    batch, length, vocabulary = c.size(1, 4), c.size(1, 12), c.size(3, 5)
    c.put(c.whole(numpy.int64, batch, length, low=0, high=vocabulary - 1)).put(c.floats(batch, vocabulary))
    return c.set(ngram_size=draw.randint(1, 4))


@case
def Trilu(draw):
    c = Case(draw, "Trilu")
    c.put(c.floats(*shape_of(c, 2)))
    return c.put(numpy.int64(draw.randint(-2, 2)) if c.flip() else None, constant=True).set(upper=draw.randint(0, 1))


@case
def GatherND(draw):
    c = Case(draw, "GatherND")
    shape = shape_of(c, 2)
    depth = draw.randint(1, len(shape))
    indices = numpy.stack([c.whole(numpy.int64, 3, 2, low=0, high=size - 1) for size in shape[:depth]], -1)
    return c.put(c.floats(*shape)).put(indices, fixed=(-1,))


@case
def Pad(draw):
    c = Case(draw, "Pad")
    mode = draw.choice(["constant", "edge", "reflect"])
    shape = [c.size(3, 6) for _ in range(c.draw.randint(1, 3))]
    pads = c.whole(numpy.int64, 2 * len(shape), low=-1 if mode == "constant" else 0, high=2)
    if c.flip():
        pads = pads[None]
    return c.put(c.floats(*shape)).put(pads, constant=True).put(numpy.float32(1.5) if mode == "constant" and c.flip() else None, constant=True).set(mode=mode)


@case
def GridSample(draw):
    c = Case(draw, "GridSample")
    batch = c.size(1, 2)
    c.put(c.floats(batch, c.size(1, 3), c.size(2, 6), c.size(2, 6)), fixed=(2, 3)).put(c.floats(batch, c.size(1, 4), c.size(1, 4), 2, low=-1.2, high=1.2), fixed=(-1,))
    c.tolerance = 1e-4  # places near the middle between two pixels
    return c.set(mode=draw.choice(["bilinear", "bicubic"]), padding_mode=draw.choice(["zeros", "border", "reflection"]), align_corners=draw.randint(0, 1))
