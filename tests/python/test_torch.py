"""Tensors of torch, in and out, without copies."""

import dyn
import numpy
import pytest
from models import PRODUCT, SCALE, move

torch = pytest.importorskip("torch", reason="python.torch: torch is not installed")

DTYPES = ["float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
NAMES = dict(zip(DTYPES, ["f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "bool"], strict=True))


@pytest.fixture(autouse=True)
def seeded(rng):
    torch.manual_seed(int(rng.integers(2**31)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_both_ways(dtype):
    graph = dyn.Graph.from_text(move(NAMES[dtype]), threads=1)
    x = torch.randint(0, 2 if dtype == "bool" else 90, (7, 3)).to(getattr(torch, dtype))
    view = dyn.Tensor(x)
    assert view.address == x.data_ptr() and view.dtype == NAMES[dtype] and view.shape == (7, 3)
    back = torch.from_dlpack(view)
    assert back.data_ptr() == x.data_ptr() and back.dtype == x.dtype
    y = torch.from_dlpack(graph.run({"x": x})["y"])
    assert y.dtype == x.dtype and torch.equal(y, x.T)


def test_a_run_reads_and_writes_where_torch_has_its_memory():
    graph = dyn.Graph.from_text(PRODUCT, threads=1)
    a, b, c = torch.randn(7, 31), torch.randn(31, 24), torch.full((7, 24), float("nan"))
    outputs = graph.run({"a": a, "b": b}, out={"c": c})
    assert outputs["c"] is c
    torch.testing.assert_close(c, a @ b, rtol=2e-5, atol=2e-5)
    call = dyn.Call(graph)
    for name, tensor in (("a", a), ("b", b)):
        call.set_input(name, tensor)
    call.set_output("c", c)
    for _ in range(3):
        a.normal_()
        call.run()
        torch.testing.assert_close(c, a @ b, rtol=2e-5, atol=2e-5)


def test_outputs_outlive_everything_else():
    graph = dyn.Graph.from_text(SCALE, threads=1)
    x = torch.randn(1000)
    z = torch.from_dlpack(graph.run({"x": x, "y": x})["z"])
    graph.close()
    del graph
    torch.testing.assert_close(z, 3 * x)
    z += 1
    torch.testing.assert_close(z, 3 * x + 1)


def test_strides_and_what_is_refused():
    graph = dyn.Graph.from_text(SCALE, threads=1)
    base = torch.randn(6, 8)
    y = torch.zeros(6)
    numpy.testing.assert_allclose(graph.run({"x": base[:, 3], "y": y})["z"], 2 * base[:, 3].numpy(), rtol=1e-6)
    numpy.testing.assert_allclose(graph.run({"x": base[0, :1].expand(6), "y": y})["z"], 2 * base[0, [0] * 6].numpy(), rtol=1e-6)
    with pytest.raises(dyn.UserError, match="input 'x' has strides"):
        dyn.Call(graph).set_input("x", base[:, 3])
    for given, words in (
        (torch.randn(6, requires_grad=True), "input 'x' is a torch.Tensor that DLPack cannot pass on"),
        (torch.randn(6).to_sparse(), "DLPack cannot pass on"),
        (torch.zeros(6, device="meta"), "input 'x'"),
        (torch.zeros(6, dtype=torch.complex64), "DLPack's type 5"),
    ):
        with pytest.raises(dyn.UserError, match=words):
            graph.run({"x": given, "y": y})
    if torch.cuda.is_available():
        with pytest.raises(dyn.UserError, match=r"\(CUDA\)"):
            graph.run({"x": base[:, 3].cuda(), "y": y})
