#!/usr/bin/env python3
"""Writes the models that the papers of docs/workloads.md measure and examples/models does not hold, as texts.

    python3 tests/bench/paper_models.py FOLDER
    dynrun bench FOLDER/googlenet.dyn --random-weights --dims N=1..128*2 --dims H=224 --dims W=224

No weights are written: `--random-weights` makes them up. Images have their channels last, and batch norms are folded
into the convolutions before them, as any program does that only runs a model.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "models"))
import make_models  # noqa: E402

# MikPoly's images have 64 to 640 pixels a side, in batches of up to 128.
IMAGES = ["N in 1..128 hint 1", "H in 64..640 hint 224", "W in 64..640 hint 224"]


class Images(make_models.Writer):
    """The body of a convolutional network; `at` is the value that the next layer reads, of `channels` channels."""

    def __init__(self):
        super().__init__()
        self.at, self.channels, self.count = "image", 3, 0

    def next(self, expression, channels=None):
        self.count += 1
        self.at, self.channels = f"x{self.count}", channels or self.channels
        self(f"{self.at} = {expression}")
        return self.at

    def conv(self, channels, size, stride=1, padding=0, act=True):
        name = f"conv{self.count + 1}"
        weight = self.weight(f"{name}.weight", size, size, self.channels, channels)
        bias = self.weight(f"{name}.bias", channels)
        text = (f"conv({self.at}, {weight}) strides=[{stride}, {stride}] before=[{padding}, {padding}] "
                f"after=[{padding}, {padding}] + {bias}")
        return self.next(f"relu({text})" if act else text, channels)

    def pool(self, size, stride, before=0, after=0):
        """PyTorch's ceil_mode is `after` one greater than `before`."""
        return self.next(f"max_pool({self.at}) sizes=[{size}, {size}] strides=[{stride}, {stride}] "
                         f"before=[{before}, {before}] after=[{after}, {after}]")

    def branch_from(self, at, channels):
        self.at, self.channels = at, channels

    def to_grid(self, cells, height, width):
        """The mean over each of cells x cells parts, which overlap where the image does not divide."""
        for axis, extent in (("rows", height), ("columns", width)):
            self(f"{axis} = range() end=({extent})")
            self(f"{axis}_of = reshape(range() end={cells}) shape=[{cells}, 1]")
            self(f"{axis}_in = reduce_max({axis}) keepdims=false + 1")
            self(f"{axis}_met = logical_and(greater(({axis} + 1) * {cells}, {axis}_of * {axis}_in), "
                 f"less({axis} * {cells}, ({axis}_of + 1) * {axis}_in))")
            self(f"{axis}_met_f = cast({axis}_met) dtype=f32")
            self(f"{axis}_share = {axis}_met_f / reduce_sum({axis}_met_f) axes=[1]")
        self(f"flat = reshape({self.at}) shape=[N, {height}, ({width}) * {self.channels}]")
        self(f"by_rows = reshape(matmul(rows_share, flat)) shape=[N, {cells}, {width}, {self.channels}]")
        self.next("matmul(columns_share, by_rows)")

    def dense(self, inputs, outputs, act=True):
        name = f"fc{self.count + 1}"
        weight, bias = self.weight(f"{name}.weight", inputs, outputs), self.weight(f"{name}.bias", outputs)
        text = f"matmul({self.at}, {weight}) + {bias}"
        self.next(f"relu({text})" if act else text, outputs)

    def classify(self):
        """The mean over all places, then 1000 classes."""
        self.next(f"reduce_mean({self.at}) axes=[1, 2] keepdims=false")
        self.dense(self.channels, 1000, act=False)


def save_images(folder, name, title, w):
    w(f"return {w.at}")
    make_models.save_with_dims(folder / f"{name}.dyn", [title, "", "image     channels last", "scores    of 1000 classes"],
                               IMAGES, f"{name}.safetensors", [],
                               f"{name}(image: f32[N, H, W, 3]) -> (scores: f32[N, 1000])", w)


def after_conv(extent, size, stride, padding):
    return f"floordiv({extent} + {2 * padding - size}, {stride}) + 1"


def alexnet(folder):
    w = Images()
    extents = []
    for extent in "HW":
        extent = after_conv(extent, 11, 4, 2)
        for _ in range(3):  # the convolutions between keep the size
            extent = after_conv(extent, 3, 2, 0)
        extents.append(extent)
    w.conv(64, 11, 4, 2)
    w.pool(3, 2)
    w.conv(192, 5, 1, 2)
    w.pool(3, 2)
    for channels in (384, 256, 256):
        w.conv(channels, 3, 1, 1)
    w.pool(3, 2)
    w.to_grid(6, *extents)
    w.next(f"reshape({w.at}) shape=[N, 9216]")
    for inputs in (9216, 4096):
        w.dense(inputs, 4096)
    w.dense(4096, 1000, act=False)
    save_images(folder, "alexnet", "AlexNet, as torchvision has it.", w)


def vgg(folder, layers, convolutions):
    """`convolutions` in each of the five blocks."""
    w = Images()
    for channels, count in zip((64, 128, 256, 512, 512), convolutions):
        for _ in range(count):
            w.conv(channels, 3, 1, 1)
        w.pool(2, 2)
    w.to_grid(7, "floordiv(H, 32)", "floordiv(W, 32)")
    w.next(f"reshape({w.at}) shape=[N, 25088]")
    for inputs in (25088, 4096):
        w.dense(inputs, 4096)
    w.dense(4096, 1000, act=False)
    save_images(folder, f"vgg{layers}", f"VGG-{layers}.", w)


def resnet(folder, layers, blocks, bottleneck):
    w = Images()
    w.conv(64, 7, 2, 3)
    w.pool(3, 2, 1, 1)
    for stage, count in enumerate(blocks):
        width = 64 << stage
        outputs = 4 * width if bottleneck else width
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            start, inputs = w.at, w.channels
            if bottleneck:
                w.conv(width, 1)
                w.conv(width, 3, stride, 1)
                last = w.conv(outputs, 1, act=False)
            else:
                w.conv(width, 3, stride, 1)
                last = w.conv(outputs, 3, 1, 1, act=False)
            if stride != 1 or inputs != outputs:
                w.branch_from(start, inputs)
                start = w.conv(outputs, 1, stride, act=False)
            w.next(f"relu({last} + {start})", outputs)
    w.classify()
    save_images(folder, f"resnet{layers}", f"ResNet-{layers}.", w)


def inception(w, one, three, five, pooled):
    """Four branches side by side; torchvision's filters of the third are 3 wide."""
    start, inputs = w.at, w.channels
    ends = [w.conv(one, 1)]
    for reduced, channels in (three, five):
        w.branch_from(start, inputs)
        w.conv(reduced, 1)
        ends.append(w.conv(channels, 3, 1, 1))
    w.branch_from(start, inputs)
    w.pool(3, 1, 1, 1)
    ends.append(w.conv(pooled, 1))
    w.next(f"concat({', '.join(ends)}) axis=3", one + three[1] + five[1] + pooled)


def googlenet(folder):
    w = Images()
    w.conv(64, 7, 2, 3)
    w.pool(3, 2, 0, 1)
    w.conv(64, 1)
    w.conv(192, 3, 1, 1)
    w.pool(3, 2, 0, 1)
    inception(w, 64, (96, 128), (16, 32), 32)
    inception(w, 128, (128, 192), (32, 96), 64)
    w.pool(3, 2, 0, 1)
    inception(w, 192, (96, 208), (16, 48), 64)
    inception(w, 160, (112, 224), (24, 64), 64)
    inception(w, 128, (128, 256), (24, 64), 64)
    inception(w, 112, (144, 288), (32, 64), 64)
    inception(w, 256, (160, 320), (32, 128), 128)
    w.pool(2, 2, 0, 1)
    inception(w, 256, (160, 320), (32, 128), 128)
    inception(w, 384, (192, 384), (48, 128), 128)
    w.classify()
    save_images(folder, "googlenet", "GoogLeNet, as torchvision has it, without the auxiliary classifiers.", w)


def vit_base(folder):
    """TSCompiler's images have 32 to 384 pixels a side."""
    width, heads, layers = 768, 12, 12
    w = make_models.Writer()
    w(f"patches = conv(image, {w.weight('patch.weight', 16, 16, 3, width)}) strides=[16, 16] + "
      f"{w.weight('patch.bias', width)}")
    w.comment("The grid of positions is that of 384 pixels; smaller images take a corner of it.")
    w(f"grid = slice({w.weight('positions.weight', 24, 24, width)}) axes=[0, 1] starts=[0, 0] "
      "ends=[floordiv(H, 16), floordiv(W, 16)]")
    w(f"tokens = reshape(patches + grid) shape=[B, S - 1, {width}]")
    w(f"class = expand({w.weight('class.weight', 1, 1, width)}) shape=[B, 1, {width}]")
    w("x0 = concat(class, tokens) axis=1")
    for i in range(layers):
        w.comment(f"Layer {i}.")
        w.norm(f"n{i}", f"x{i}", f"layer.{i}.norm1", width, "1e-12")
        for part in "qkv":
            w.linear(f"{part}{i}", f"n{i}", f"layer.{i}.{part}", width, width)
        w.attend(i, heads, width, ")")
        w.linear(f"o{i}", f"a{i}", f"layer.{i}.out", width, width)
        w(f"y{i} = x{i} + o{i}")
        w.norm(f"m{i}", f"y{i}", f"layer.{i}.norm2", width, "1e-12")
        w.linear(f"u{i}", f"m{i}", f"layer.{i}.up", width, 4 * width)
        w.linear(f"d{i}", f"gelu(u{i})", f"layer.{i}.down", 4 * width, width)
        w(f"x{i + 1} = y{i} + d{i}")
    w.norm("final", f"x{layers}", "norm", width, "1e-12")
    w(f"first = reshape(slice(final) axes=[1] starts=[0] ends=[1]) shape=[B, {width}]")
    w.linear("scores", "first", "classifier", width, 1000)
    w("return scores")
    dims = ["B in 1..128 hint 1", "H in 32..384 multiple 16 hint 224", "W in 32..384 multiple 16 hint 224",
            "S = floordiv(H, 16) * floordiv(W, 16) + 1"]
    make_models.save_with_dims(folder / "vit_base.dyn",
                               ["ViT base of patches of 16: 12 layers, 768 wide, 12 heads.", "", "image     channels last",
                                "scores    of 1000 classes"],
                               dims, "vit_base.safetensors", [],
                               "vit_base(image: f32[B, H, W, 3]) -> (scores: f32[B, 1000])", w)


def roberta_base(folder):
    w = make_models.Writer()
    w(f"words = gather({w.weight('embeddings.word_embeddings.weight', 50265, 768)}, ids) axis=0")
    w.comment("Places count from 2 on, as 0 and 1 are those of padding; there is one type of text.")
    w(f"positions = slice({w.weight('embeddings.position_embeddings.weight', 514, 768)}) axes=[0] starts=[2] ends=[S + 2]")
    w.norm("x0", f"words + positions + {w.weight('embeddings.token_type_embeddings.weight', 1, 768)}",
           "embeddings.LayerNorm", 768, "1e-05")
    w.mask()
    for i in range(12):
        names = make_models.with_prefix(f"encoder.layer.{i}.", make_models.BERT)
        make_models.encoder_layer(w, i, names, 768, 12, 3072, "1e-05", "none")
    w("return x12")
    make_models.save(folder / "roberta_base.dyn",
                     ["RoBERTa base: 12 layers, 768 wide, 12 heads.", "", make_models.ABOUT_IDS, make_models.ABOUT_MASK],
                     "roberta_base.safetensors",
                     f"roberta_base({make_models.IDS}, {make_models.MASK}) -> (hidden: f32[B, S, 768])", w, 512)


def llama2_13b_layer(folder):
    """MikPoly has 1 to 512 tokens of 1 to 8 prompts."""
    width, heads, inner = 5120, 40, 13824
    size = width // heads
    w = make_models.Writer()

    def project(target, x, name, inputs, outputs):
        w(f"{target} = matmul({x}, {w.weight(name + '.weight', inputs, outputs)})")

    w.comment("Angles of the rotary embedding.")
    w("places = reshape(range() end=(S) dtype=f32) shape=[S, 1]")
    w(f"speeds = exp((range() end={size // 2} dtype=f32) * {-2 * 9.210340371976184 / size!r})")
    w("angles = places * speeds")
    w("cosines = cos(angles)")
    w("sines = sin(angles)")
    w.comment("Attention.")
    w(f"n0 = rms_norm(x, {w.weight('input_layernorm.weight', width)}) epsilon=1e-05")
    for part in "qkv":
        project(f"{part}0", "n0", f"self_attn.{part}_proj", width, width)
        w.heads(f"{part}0h", f"{part}0", heads, size)
    for part in "qk":
        w(f"{part}_left, {part}_right = split({part}0h) axis=3 sizes=[{size // 2}, {size // 2}]")
        w(f"{part}0r = concat({part}_left * cosines - {part}_right * sines, "
          f"{part}_right * cosines + {part}_left * sines) axis=3")
    w("a0h = attention(q0r, k0r, v0h) causal=true")
    w(f"a0 = reshape(transpose(a0h) perm=[0, 2, 1, 3]) shape=[B, S, {width}]")
    project("o0", "a0", "self_attn.o_proj", width, width)
    w("y0 = x + o0")
    w.comment("The gated pair.")
    w(f"m0 = rms_norm(y0, {w.weight('post_attention_layernorm.weight', width)}) epsilon=1e-05")
    project("g0", "m0", "mlp.gate_proj", width, inner)
    project("u0", "m0", "mlp.up_proj", width, inner)
    project("d0", "silu(g0) * u0", "mlp.down_proj", inner, width)
    w("return y0 + d0")
    make_models.save(folder / "llama2_13b_layer.dyn",
                     ["A layer of Llama 2, 13 billion parameters: 5120 wide, 40 heads, 13824 within.", "",
                      "x         the tokens' states"],
                     "llama2_13b_layer.safetensors",
                     f"llama2_13b_layer(x: f32[B, S, {width}]) -> (y: f32[B, S, {width}])", w, 512, batches=8)


def write_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    alexnet(folder)
    vgg(folder, 11, (1, 1, 2, 2, 2))
    vgg(folder, 19, (2, 2, 4, 4, 4))
    resnet(folder, 18, (2, 2, 2, 2), bottleneck=False)
    resnet(folder, 50, (3, 4, 6, 3), bottleneck=True)
    googlenet(folder)
    vit_base(folder)
    roberta_base(folder)
    make_models.albert("albert_large", "ALBERT large, version 2", 24, 1024, 16, folder)
    make_models.albert("albert_xxlarge", "ALBERT xxlarge, version 2", 12, 4096, 64, folder)
    llama2_13b_layer(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="is made where it does not exist")
    write_all(parser.parse_args().folder)


if __name__ == "__main__":
    main()
