"""The numbered examples in Python."""

import asyncio
import importlib.util
import pathlib
import sys

import dyn
import numpy
import pytest
from models import onnx_model

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def loaded(name, **modules):
    """The example as a module, with other modules under some names."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    before = {other: sys.modules.get(other) for other in modules}
    sys.modules.update(modules)
    try:
        spec.loader.exec_module(module)
    finally:
        for other, own in before.items():
            if own is not None:
                sys.modules[other] = own
    return module


def test_python(capsys):
    loaded("09_python").main()
    assert "user error: input 'x' is f64, but the model's is f32[N, 24]" in capsys.readouterr().out


def test_service(capsys):
    asyncio.run(loaded("17_service").main())
    printed = capsys.readouterr().out
    assert printed.count("rows: class") == 4 and "There is no item named 'm/other.dyn' in the archive" in printed


def test_builder(capsys):
    loaded("19_builder").main()
    printed = capsys.readouterr().out
    assert "gated = split * sigmoid" in printed and "graph: matmul needs input 1 to have 2 dims or more" in printed


def test_embedding(rng, tmp_path, capsys):
    """A small tokenizer and a small model of the same form; swapping the import back changes nothing."""
    onnx = pytest.importorskip("onnx", reason="python.onnxruntime: onnx is not installed")
    ort = pytest.importorskip("onnxruntime", reason="python.onnxruntime: ONNX Runtime is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="python.tokenizers: the package tokenizers is not installed")
    words = ["[UNK]", "[PAD]", "a", "cat", "sat", "dogs", "ran", "fast"]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    weights = [("table", rng.normal(size=(len(words), 12)).astype(numpy.float32)), ("w", rng.normal(size=(12, 9)).astype(numpy.float32))]
    make = onnx.helper.make_node
    nodes = [
        make("Gather", ["table", "input_ids"], ["words"]),
        make("MatMul", ["words", "w"], ["h"]),
        make("Tanh", ["h"], ["last_hidden_state"]),
        make("Identity", ["attention_mask"], ["mask"]),
    ]
    shape = ["batch_size", "sequence_length"]
    model = onnx_model(
        nodes,
        [("input_ids", "int64", shape), ("attention_mask", "int64", shape)],
        [("mask", "int64", shape), ("last_hidden_state", "float32", [*shape, 9])],
        weights,
    )
    (tmp_path / "model.onnx").write_bytes(model)
    sentences = ["a cat sat", "dogs ran", "a cat", "dogs ran fast a cat sat", "nothing known"]
    files = str(tmp_path / "model.onnx"), str(tmp_path / "tokenizer.json")
    own = loaded("10_embedding").Embedder(*files).embed(sentences)
    other = loaded("10_embedding", dyn=ort).Embedder(*files).embed(sentences)
    assert sys.modules["dyn"] is dyn and own.shape == (5, 9)
    numpy.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6)
    assert loaded("10_embedding").main([*files, *sentences]) == 0
    assert capsys.readouterr().out.count(" 1.000 ") >= 5
    assert loaded("10_embedding").main([]) == 2
