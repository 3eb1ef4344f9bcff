"""The sizes of a BERT, from its weights."""

DEPTH = 64  # of a head


def width_of(weights):
    return weights["embeddings.LayerNorm.weight"].shape[0]


def layers_of(weights):
    return sum(name.endswith("attention.self.query.weight") for name in weights)
