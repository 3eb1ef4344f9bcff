#!/usr/bin/env python3
"""Writes the models of this directory, and tests/models/encoder_small.dyn.

    python3 make_models.py

Weights have the names that Hugging Face's checkpoints give them. A linear layer's weight is [inputs, outputs], ready
for matmul; PyTorch's nn.Linear keeps the transpose. The safetensors files are not here: convert a checkpoint, or let
`--random-weights` make them up.
"""

from pathlib import Path

HERE = Path(__file__).resolve().parent


class Writer:
    """Collects the lines of one graph's body."""

    def __init__(self):
        self.lines = []
        self.declared = set()

    def __call__(self, line=""):
        self.lines.append("  " + line if line else "")

    def comment(self, text):
        self()
        self("# " + text)

    def weight(self, name, *dims):
        """A reference; the first one of a weight gives its type."""
        if name in self.declared:
            return name
        self.declared.add(name)
        return f"{name}: f32[{', '.join(map(str, dims))}]"

    def linear(self, target, x, name, inputs, outputs):
        weight, bias = self.weight(name + ".weight", inputs, outputs), self.weight(name + ".bias", outputs)
        self(f"{target} = matmul({x}, {weight}) + {bias}")

    def norm(self, target, x, name, width, epsilon):
        weight, bias = self.weight(name + ".weight", width), self.weight(name + ".bias", width)
        self(f"{target} = layer_norm({x}, {weight}, {bias}) epsilon={epsilon}")

    def heads(self, target, x, heads, size):
        self(f"{target} = transpose(reshape({x}) shape=[B, S, {heads}, {size}]) perm=[0, 2, 1, 3]")

    def attend(self, i, heads, width, rest, cached=False):
        """q, k, v of layer i -> a, all heads side by side."""
        for part in "qkv":
            self.heads(f"{part}{i}h", f"{part}{i}", heads, width // heads)
        if cached:
            for part in "kv":
                self(f"{part}{i}c = append(h.{i}.{part}, {part}{i}h) at=P")
                self(f"{part}{i}a = slice({part}{i}c) axes=[2] starts=[0] ends=[P + S]")
        keys, values = (f"k{i}a", f"v{i}a") if cached else (f"k{i}h", f"v{i}h")
        self(f"a{i}h = attention(q{i}h, {keys}, {values}{rest}")
        self(f"a{i} = reshape(transpose(a{i}h) perm=[0, 2, 1, 3]) shape=[B, S, {width}]")

    def mask(self):
        self.comment("0 for what the mask keeps, -10000 for what it hides: finite, so that a row of nothing is no NaN.")
        self("hide = (reshape(mask) shape=[B, 1, 1, S] - 1.0) * 10000.0")


def embeddings(w, prefix, width, tables, epsilon):
    """The sum of some of words, positions and types, normalised: x0."""
    terms = []
    for kind, rows in tables:
        name = w.weight(f"{prefix}{kind}_embeddings.weight", rows, width)
        if kind == "position":
            w(f"positions = slice({name}) axes=[0] starts=[0] ends=[S]")
            terms.append("positions")
        else:
            target, ids = {"word": ("words", "ids"), "token_type": ("types", "type_ids")}[kind]
            w(f"{target} = gather({name}, {ids}) axis=0")
            terms.append(target)
    w.norm("x0", " + ".join(terms), prefix + "LayerNorm", width, epsilon)


def encoder_layer(w, i, names, width, heads, inner, epsilon, gelu):
    """x{i} -> x{i+1}; the normalisation stands after each half (post-norm)."""
    w.comment(f"Layer {i}.")
    for part in "qkv":
        w.linear(f"{part}{i}", f"x{i}", names[part], width, width)
    w.attend(i, heads, width, ", hide)")
    w.linear(f"o{i}", f"a{i}", names["o"], width, width)
    w.norm(f"y{i}", f"x{i} + o{i}", names["norm1"], width, epsilon)
    w.linear(f"u{i}", f"y{i}", names["up"], width, inner)
    w.linear(f"d{i}", f"gelu(u{i}) approximate={gelu}", names["down"], inner, width)
    w.norm(f"x{i + 1}", f"y{i} + d{i}", names["norm2"], width, epsilon)


def save(path, about, weights, signature, body, longest, batches=64):
    dims = [f"B in 1..{batches}", f"S in 1..{longest} hint 128"]
    save_with_dims(path, about, dims, weights, [], signature, body)


def save_with_dims(path, about, dims, weights, states, signature, body):
    text = "".join(f"# {line}".rstrip() + "\n" for line in about)
    text += "\ndyn 1\n" + "".join(f"dim {dim}\n" for dim in dims) + f"weights \"{weights}\"\n"
    text += "".join(f"state {state}\n" for state in states) + "\n"
    text += f"graph {signature} {{\n" + "\n".join(body.lines) + "\n}\n"
    path.write_text(text, encoding="utf-8")


def with_prefix(prefix, names):
    return {part: prefix + name for part, name in names.items()}


BERT = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
        "o": "attention.output.dense", "norm1": "attention.output.LayerNorm", "up": "intermediate.dense",
        "down": "output.dense", "norm2": "output.LayerNorm"}
DISTILBERT = {"q": "attention.q_lin", "k": "attention.k_lin", "v": "attention.v_lin", "o": "attention.out_lin",
              "norm1": "sa_layer_norm", "up": "ffn.lin1", "down": "ffn.lin2", "norm2": "output_layer_norm"}
ALBERT = {"q": "attention.query", "k": "attention.key", "v": "attention.value", "o": "attention.dense",
          "norm1": "attention.LayerNorm", "up": "ffn", "down": "ffn_output", "norm2": "full_layer_layer_norm"}

IDS = "ids: i64[B, S]"
TYPE_IDS = "type_ids: i64[B, S]"
MASK = "mask: f32[B, S]"
ABOUT_IDS = "ids       the tokens"
ABOUT_TYPES = "type_ids  0 for the first text, 1 for the second"
ABOUT_MASK = "mask      1 for what counts, 0 for what to ignore"


def bert(file, title, layers, width, heads):
    w = Writer()
    embeddings(w, "embeddings.", width, [("word", 30522), ("position", 512), ("token_type", 2)], "1e-12")
    w.mask()
    for i in range(layers):
        encoder_layer(w, i, with_prefix(f"encoder.layer.{i}.", BERT), width, heads, 4 * width, "1e-12", "none")
    w()
    w(f"return x{layers}")
    save(HERE / f"{file}.dyn", [f"{title}: {layers} layers, {width} wide, {heads} heads.", "", ABOUT_IDS, ABOUT_TYPES,
                                ABOUT_MASK],
         f"{file}.safetensors", f"{file}({IDS}, {TYPE_IDS}, {MASK}) -> (hidden: f32[B, S, {width}])", w, 512)


def distilbert():
    w = Writer()
    embeddings(w, "embeddings.", 768, [("word", 30522), ("position", 512)], "1e-12")
    w.mask()
    for i in range(6):
        encoder_layer(w, i, with_prefix(f"transformer.layer.{i}.", DISTILBERT), 768, 12, 3072, "1e-12", "none")
    w()
    w("return x6")
    save(HERE / "distilbert.dyn", ["DistilBERT base: 6 layers, 768 wide, 12 heads.", "", ABOUT_IDS, ABOUT_MASK],
         "distilbert.safetensors", f"distilbert({IDS}, {MASK}) -> (hidden: f32[B, S, 768])", w, 512)


def albert(file, title, layers, width, heads, folder=HERE):
    w = Writer()
    embeddings(w, "embeddings.", 128, [("word", 30000), ("position", 512), ("token_type", 2)], "1e-12")
    # The projection to the layers' width stands between the embeddings and the first layer.
    w.lines[-1] = w.lines[-1].replace("x0 =", "narrow =", 1)
    w.linear("x0", "narrow", "encoder.embedding_hidden_mapping_in", 128, width)
    w.mask()
    names = with_prefix("encoder.albert_layer_groups.0.albert_layers.0.", ALBERT)
    for i in range(layers):
        encoder_layer(w, i, names, width, heads, 4 * width, "1e-12", "tanh")
    w()
    w(f"return x{layers}")
    save(folder / f"{file}.dyn", [f"{title}: {layers} times the same layer, {width} wide, {heads} heads.", "", ABOUT_IDS,
                                  ABOUT_TYPES, ABOUT_MASK],
         f"{file}.safetensors", f"{file}({IDS}, {TYPE_IDS}, {MASK}) -> (hidden: f32[B, S, {width}])", w, 512)


def gpt2(cached):
    width, heads, layers, words = 768, 12, 12, 50257
    w = Writer()
    w(f"words = gather({w.weight('wte.weight', words, width)}, ids) axis=0")
    span = "starts=[P] ends=[P + S]" if cached else "starts=[0] ends=[S]"
    w(f"positions = slice({w.weight('wpe.weight', 1024, width)}) axes=[0] {span}")
    w("x0 = words + positions")
    for i in range(layers):
        w.comment(f"Layer {i}.")
        w.norm(f"n{i}", f"x{i}", f"h.{i}.ln_1", width, "1e-5")
        w.linear(f"qkv{i}", f"n{i}", f"h.{i}.attn.c_attn", width, 3 * width)
        w(f"q{i}, k{i}, v{i} = split(qkv{i}) axis=2 sizes=[{width}, {width}, {width}]")
        w.attend(i, heads, width, ") causal=true", cached)
        w.linear(f"o{i}", f"a{i}", f"h.{i}.attn.c_proj", width, width)
        w(f"y{i} = x{i} + o{i}")
        w.norm(f"m{i}", f"y{i}", f"h.{i}.ln_2", width, "1e-5")
        w.linear(f"u{i}", f"m{i}", f"h.{i}.mlp.c_fc", width, 4 * width)
        w.linear(f"d{i}", f"gelu(u{i}) approximate=tanh", f"h.{i}.mlp.c_proj", 4 * width, width)
        w(f"x{i + 1} = y{i} + d{i}")
    w.comment("The table of words, once more, tells how well each word would follow.")
    w.norm("final", f"x{layers}", "ln_f", width, "1e-5")
    w(f"return matmul(final, {w.weight('wte.weight')}) transpose_b=true")
    title = "GPT-2 (124 million parameters): 12 layers, 768 wide, 12 heads, causal, "
    about_logits = "logits    for each place the score of each next token"
    if not cached:
        save(HERE / "gpt2.dyn", [title + "without cache.", "", ABOUT_IDS, about_logits], "gpt2.safetensors",
             f"gpt2({IDS}) -> (logits: f32[B, S, {words}])", w, 1024)
        return
    states = [f"h.{i}.{part}: f32[B, {heads}, C, {width // heads}]" for i in range(layers) for part in "kv"]
    dims = ["B in 1..64 hint 1", "S in 1..1024 hint 1", "P in 0..1024", "C in 1..1024 hint 1024"]
    save_with_dims(HERE / "gpt2_cached.dyn",
                   [title + "with a cache.", "", "A session keeps the keys and values of the P places so far, and has room for C.", "",
                    "ids       the S tokens that follow", about_logits],
                   dims, "gpt2.safetensors", states, f"gpt2_cached({IDS}) -> (logits: f32[B, S, {words}])", w)


def encoder_small():
    width, heads, inner = 72, 3, 288
    w = Writer()
    embeddings(w, "embeddings.", width, [("word", 100), ("position", 1024)], "1e-5")
    w.mask()
    for i in range(2):
        encoder_layer(w, i, with_prefix(f"layer.{i}.", BERT), width, heads, inner, "1e-5", "none")
    w.comment("The mean over what the mask keeps; 0 where it keeps nothing.")
    w("keep = reshape(mask) shape=[B, S, 1]")
    w("total = reduce_sum(x2 * keep) axes=[1] keepdims=false")
    w("count = reduce_sum(mask) axes=[1]")
    w("pooled = total / maximum(count, 1.0)")
    w()
    w("return x2, pooled")
    save(HERE.parent.parent / "tests" / "models" / "encoder_small.dyn",
         ["An encoder for tests: 2 layers, 72 wide, 3 heads of 24.", "", ABOUT_IDS, ABOUT_MASK],
         "encoder_small.safetensors",
         f"encoder_small({IDS}, {MASK}) -> (hidden: f32[B, S, {width}], pooled: f32[B, {width}])", w, 1024, batches=8)


if __name__ == "__main__":
    bert("bert_base", "BERT base", 12, 768, 12)
    bert("bert_large", "BERT large", 24, 1024, 16)
    distilbert()
    albert("albert", "ALBERT base, version 2", 12, 768, 12)
    gpt2(cached=False)
    gpt2(cached=True)
    encoder_small()
