"""Random weights for the models of examples/models, as the .dyn files declare them. Needs numpy."""

import math
import re

import numpy

_DECLARATION = re.compile(r"([\w.]+): f32\[(\d+(?:, \d+)*)\]")


def random_weights(text, random):
    """Every weight that `text` declares, by name. Matrices keep the size of what they multiply; nothing is symmetric."""
    weights = {}
    for name, dims in _DECLARATION.findall(text):
        shape = [int(dim) for dim in dims.split(", ")]
        values = random.standard_normal(shape, dtype=numpy.float32)
        is_table = "embeddings." in name or name in ("wte.weight", "wpe.weight")
        if len(shape) == 1:
            is_factor = name.endswith("weight")
            values = 0.2 * values + (1.0 if is_factor else 0.05)
        elif is_table:
            values = 0.3 * values + 0.02
        else:
            values = values / math.sqrt(shape[0]) + 0.1 / shape[0]
        weights[name] = values.astype(numpy.float32)
    return weights
