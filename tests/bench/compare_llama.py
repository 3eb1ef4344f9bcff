#!/usr/bin/env python3
"""Times a Llama of 1.1 billion parameters with weights of 4 bits in groups of 32: dyn beside llama.cpp, in alternating slices.

A case is a number of tokens behind a number of past ones: 1 token (decoding) or many (a prompt). Both sides compute the scores of the last token alone. Weights are random:
dyn quantises its own at load and multiplies by bytes (--flags), llama.cpp gets a GGUF file of random Q4_0 blocks. The caches are f16 in llama.cpp, as is its default, and --cache in dyn.
A ratio is llama.cpp's time over dyn's. `limit_ratio` counts every weight's bytes once for each run.

Needs, from PyPI: numpy, gguf and llama-cpp-python.
"""

import argparse
import ctypes
import math
import pathlib
import sys
import tempfile

import numpy

import alternating

LAYERS, WIDTH, HEADS, KEY_HEADS, HEAD, HIDDEN, WORDS, PLACES, EPSILON = 22, 2048, 32, 4, 64, 5632, 32000, 4096, 1e-5
GROUP = 32


# dyn.

def rotated(name, heads):
    """Lines that turn the halves of each head of [B, S, heads, HEAD] by the places' angles."""
    half = HEAD // 2
    return [f"  {name}a = slice({name}) axes=[3] starts=[0] ends=[{half}]", f"  {name}b = slice({name}) axes=[3] starts=[{half}] ends=[{HEAD}]",
            f"  {name}r = concat({name}a * cosines - {name}b * sines, {name}b * cosines + {name}a * sines) axis=3", f"  {name}t = transpose({name}r) perm=[0, 2, 1, 3]"]


def layer(i, cache):
    name, shared = f"l{i}", HEADS // KEY_HEADS
    keys = f"[B, {KEY_HEADS}, 1, P + S, {HEAD}]"
    yield f"  n{i} = rms_norm(x{i}, {name}.norm: f32[{WIDTH}]) epsilon={EPSILON}"
    for part, heads in [("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS)]:
        yield f"  {part}{i} = reshape(matmul(n{i}, {name}.{part}: f32[{WIDTH}, {heads * HEAD}])) shape=[B, S, {heads}, {HEAD}]"
    yield from rotated(f"q{i}", HEADS)
    yield from rotated(f"k{i}", KEY_HEADS)
    yield f"  v{i}t = transpose(v{i}) perm=[0, 2, 1, 3]"
    for part in "kv":
        new = f"{part}{i}t" if cache == "f32" else f"cast({part}{i}t) dtype={cache}"
        if cache == "i8":
            yield f"  {part}{i}u = maximum(reduce_max(abs({part}{i}t)) axes=[3] keepdims=true * 0.007874016, 1e-30)"
            new = f"cast(round({part}{i}t / {part}{i}u)) dtype=i8"
        yield f"  {part}{i}c = append({name}.{part}.cache, {new}) at=P"
        kept = f"slice({part}{i}c) axes=[2] starts=[0] ends=[P + S]"
        kept = kept if cache == "f32" else f"cast({kept}) dtype=f32"
        if cache == "i8":
            yield f"  {part}{i}d = append({name}.{part}.scales, {part}{i}u) at=P"
            kept = f"({kept}) * slice({part}{i}d) axes=[2] starts=[0] ends=[P + S]"
        yield f"  {part}{i}s = reshape({kept}) shape={keys}"
        yield f"  {part}{i}e = expand({part}{i}s) shape=[B, {KEY_HEADS}, {shared}, P + S, {HEAD}]"
    yield f"  q{i}h = reshape(q{i}t) shape=[B, {KEY_HEADS}, {shared}, S, {HEAD}]"
    yield f"  a{i} = reshape(attention(q{i}h, k{i}e, v{i}e) causal=true) shape=[B, {HEADS}, S, {HEAD}]"
    yield f"  o{i} = reshape(transpose(a{i}) perm=[0, 2, 1, 3]) shape=[B, S, {WIDTH}]"
    yield f"  y{i} = x{i} + matmul(o{i}, {name}.o: f32[{WIDTH}, {WIDTH}])"
    yield f"  m{i} = rms_norm(y{i}, {name}.mlp: f32[{WIDTH}]) epsilon={EPSILON}"
    yield f"  g{i} = silu(matmul(m{i}, {name}.gate: f32[{WIDTH}, {HIDDEN}])) * matmul(m{i}, {name}.up: f32[{WIDTH}, {HIDDEN}])"
    yield f"  x{i + 1} = y{i} + matmul(g{i}, {name}.down: f32[{HIDDEN}, {WIDTH}])"


def text_of(cache):
    half = HEAD // 2
    states = [f"state l{i}.{part}.cache: {cache}[B, {KEY_HEADS}, C, {HEAD}]" for i in range(LAYERS) for part in "kv"]
    if cache == "i8":
        states += [f"state l{i}.{part}.scales: f32[B, {KEY_HEADS}, C, 1]" for i in range(LAYERS) for part in "kv"]
    body = [f"  x0 = cast(gather(words: f16[{WORDS}, {WIDTH}], ids) axis=0) dtype=f32", "  places = range() start=P end=(P + S) dtype=i32",
            f"  angles = reshape(cast(places) dtype=f32) shape=[S, 1] * frequencies: f32[{half}]",
            f"  cosines = reshape(cos(angles)) shape=[S, 1, {half}]", f"  sines = reshape(sin(angles)) shape=[S, 1, {half}]"]
    body += [line for i in range(LAYERS) for line in layer(i, cache)]
    body += [f"  last = slice(rms_norm(x{LAYERS}, norm: f32[{WIDTH}]) epsilon={EPSILON}) axes=[1] starts=[S - 1] ends=[S]",
             f"  scores = matmul(last, head: f32[{WIDTH}, {WORDS}])", "  return scores"]
    return "\n".join(["dyn 1", "dim B in 1..8 hint 1", f"dim S in 1..{PLACES} hint 1", f"dim P in 0..{PLACES}", f"dim C in 1..{PLACES} hint {PLACES}", *states, "",
                      f"graph llama(ids: i64[B, S]) -> (scores: f32[B, 1, {WORDS}]) {{", *body, "}"]) + "\n"


# llama.cpp.

def write_gguf(path):
    import gguf

    numbers = numpy.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    for add, value in [(writer.add_context_length, PLACES), (writer.add_embedding_length, WIDTH), (writer.add_block_count, LAYERS), (writer.add_feed_forward_length, HIDDEN),
                       (writer.add_head_count, HEADS), (writer.add_head_count_kv, KEY_HEADS), (writer.add_layer_norm_rms_eps, EPSILON), (writer.add_rope_dimension_count, HEAD),
                       (writer.add_vocab_size, WORDS), (writer.add_file_type, gguf.LlamaFileType.MOSTLY_Q4_0), (writer.add_tokenizer_model, "no_vocab")]:
        add(value)

    def matrix(name, rows, columns):
        blocks = numpy.empty([rows, columns // GROUP, 2 + GROUP // 2], numpy.uint8)
        blocks[..., 2:] = numbers.integers(0, 256, [rows, columns // GROUP, GROUP // 2], numpy.uint8)
        blocks[..., :2] = (numbers.uniform(0.5, 1, [rows, columns // GROUP, 1]) / 5 / math.sqrt(columns)).astype(numpy.float16).view(numpy.uint8)
        writer.add_tensor(name, blocks.reshape(rows, -1), raw_dtype=gguf.GGMLQuantizationType.Q4_0)

    def ones(name):
        writer.add_tensor(name, numpy.ones(WIDTH, numpy.float32))

    matrix("token_embd.weight", WORDS, WIDTH)
    matrix("output.weight", WORDS, WIDTH)
    ones("output_norm.weight")
    for i in range(LAYERS):
        ones(f"blk.{i}.attn_norm.weight")
        ones(f"blk.{i}.ffn_norm.weight")
        for name, rows, columns in [("attn_q", WIDTH, WIDTH), ("attn_k", KEY_HEADS * HEAD, WIDTH), ("attn_v", KEY_HEADS * HEAD, WIDTH), ("attn_output", WIDTH, WIDTH),
                                    ("ffn_gate", HIDDEN, WIDTH), ("ffn_up", HIDDEN, WIDTH), ("ffn_down", WIDTH, HIDDEN)]:
            matrix(f"blk.{i}.{name}.weight", rows, columns)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def serve_llama(path, threads):
    import llama_cpp

    quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p())
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx, settings.n_batch, settings.n_ubatch, settings.n_threads, settings.n_threads_batch = PLACES, PLACES, 512, threads, threads
    context = llama_cpp.llama_init_from_model(model, settings)
    memory = llama_cpp.llama_get_memory(context)

    def decode(count):
        tokens = (llama_cpp.llama_token * count)(*[7 + i * 31 % (WORDS - 7) for i in range(count)])
        if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(tokens, count)) != 0:
            raise SystemExit("llama.cpp does not decode")

    def prepare(case):
        tokens, past = case
        llama_cpp.llama_memory_clear(memory, True)
        if past > 0:
            decode(past)

        def run():
            llama_cpp.llama_memory_seq_rm(memory, 0, past, -1)
            decode(tokens)
            return numpy.ctypeslib.as_array(llama_cpp.llama_get_logits(context), [WORDS])

        return run

    alternating.serve(llama_cpp.__version__, prepare)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun", help="the program (default: from PATH)")
    parser.add_argument("--past", type=int, nargs="+", default=[100, 500, 1000, 2000], help="tokens before the one that is decoded")
    parser.add_argument("--prompts", type=int, nargs="*", default=[512], help="tokens of a prompt")
    parser.add_argument("--cache", choices=["f32", "f16", "bf16", "i8"], default="f16", help="what dyn keeps keys and values in; i8 with a scale for each row")
    parser.add_argument("--flags", default="--weights i4 --precision i8", help="of dynrun")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="slices of each side")
    parser.add_argument("--slice", type=float, default=1, help="seconds of one slice; three runs at least")
    parser.add_argument("--temp", help="where the files go (default: a folder that is removed)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve_llama(options.serve[1], options.threads[0])
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.temp or temporary)
        text, gguf_file = folder / f"llama_{options.cache}.dyn", folder / "llama.gguf"
        text.write_text(text_of(options.cache))
        if not gguf_file.exists():
            write_gguf(gguf_file)
        for threads in options.threads:
            peer = alternating.Peer(__file__, "llama.cpp", gguf_file, "--threads", threads)
            if threads == options.threads[0]:
                print(f"| tokens | past | threads | dyn ms | llama.cpp (llama-cpp-python {peer.version}) ms | ratio | limit_ratio |\n" + "|---" * 7 + "|", flush=True)
            for tokens, past in [(1, past) for past in options.past] + [(prompt, 0) for prompt in options.prompts]:
                dims = {"B": 1, "S": tokens, "P": past, "C": PLACES}
                flags = ["--random-weights", *options.flags.split()]
                own = {"dyn": lambda: alternating.dyn_row(options.dynrun, text, dims, threads, options.slice, *flags)}
                theirs, ours = alternating.measured([peer], [tokens, past], threads, options.rounds, options.slice, own, agreement=None)
                print("| " + " | ".join(map(str, [tokens, past, threads, *alternating.cells(theirs, ours["dyn"])])) + " |", flush=True)
            peer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
