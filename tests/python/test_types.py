"""The stubs say what the module has, a program that is typed strictly passes with them, and one that is wrong does not."""

import ast
import os
import pathlib
import subprocess
import sys

import dyn
import pytest
from dyn import _dyn

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = pathlib.Path(dyn.__file__).parent

WRONG = """
import dyn
graph = dyn.Graph.load(7)  # error
dyn.Graph(3.5)  # error
graph.run([1])  # error
dims: tuple[str, ...] = graph.inputs[0].shape  # error
low: str = graph.dims[0].low  # error
program: str = graph.kernels({"x": (3,)})[0].program
name: str = graph.kernels()[0].program  # error
dyn.Graph.from_memory(7)  # error
dyn.Call("graph")  # error
graph.run({"x": [1]}, timeout="soon")  # error
graph.run_async({"x": [1]}, lambda future: future.result()["y"], timeout=2)
graph.run_async({"x": [1]}, print, dyn.Cancellation())  # error
dyn.Session(graph, {"B": "two"})  # error
own = dyn.Operator("my", "op", ["x"], shape=lambda inputs, attributes: inputs[0], kernel=lambda inputs, outputs, attributes: None)
dyn.Operator("my", "op", ["x"], attributes={"alpha": 1.0}, expression="alpha * x")
dyn.Operator("my", "op", ["x"], shape=lambda inputs, attributes: 3, kernel=print)  # error
dyn.TensorType("f32", ["N"])  # error
dyn.Operator("my", "op", ["x"], definition=lambda b, inputs, attributes: b.op("relu", inputs[0]) * 2)
dyn.Operator("my", "op", ["x"], definition=lambda b, inputs, attributes: inputs[0].name)  # error
b = dyn.Builder("net", [own])
x = b.input("x", "f32", (b.dim("N", 1, 64) * 2 + 1, 24))
b.output("y", dyn.functions.softmax(2 * x - x @ b.weight("w", [[0.5]]), axis=-1))
parts: tuple[dyn.Value, ...] = dyn.functions.split(x, results=2, axis=1, sizes=[10, 14])
b.output("z", "y")  # error
b.dim("M", 1.5)  # error
x + "y"  # error
dyn.functions.softmax(x, axis="last")  # error
dyn.functions.softmax(x, axs=1)  # error
dyn.functions.reshape(x)  # error
dyn.functions.reshape(x, shape=["N"])  # error
size: int = x.dims[0]  # error
built: dyn.Graph = b.load(threads=2)
dyn.InferenceSession("model.onnx", operators=[own])
graph.run({"x": [1]}, profile="label")  # error
kernel: str = dyn.Profile("label").groups[0].kernel
trace: str = dyn.chrome_trace([dyn.Profile()])
dyn.chrome_trace(dyn.Profile())  # error
dyn.SessionOptions().intra_op_num_threads = "2"  # error
session = dyn.InferenceSession("model.onnx", providers="CPUExecutionProvider", threads=2)  # error
text: int = dyn.UserError("no").message  # error
"""


def members(own):
    return {name for name in vars(own) if not name.startswith("__") or name in ("__array__", "__dlpack__", "__dlpack_device__")}


def test_stub_is_the_module():
    tree = ast.parse((PACKAGE / "_dyn.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert set(classes) == {name for name, own in vars(_dyn).items() if isinstance(own, type)}
    for name, node in classes.items():
        typed = {own.name for own in node.body if isinstance(own, ast.FunctionDef)}
        assert members(getattr(_dyn, name)) <= typed, name
        assert {own for own in typed if not hasattr(getattr(_dyn, name), own)} == set(), name
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert functions == {name for name, own in vars(_dyn).items() if callable(own) and not isinstance(own, type)}


def checked(arguments, cache):
    environment = os.environ | {"MYPYPATH": str(PACKAGE.parent), "MYPY_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", *arguments], capture_output=True, text=True, check=False, env=environment)


def test_programs_are_checked_with_them(tmp_path):
    pytest.importorskip("mypy", reason="python.mypy: mypy is not installed")
    for arguments in (["-p", "dyn"], *([str(ROOT / f"examples/{name}.py")] for name in ("09_python", "10_embedding", "17_service", "19_builder"))):
        ended = checked(arguments, tmp_path / "cache")
        assert ended.returncode == 0, ended.stdout + ended.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    ended = checked([str(wrong)], tmp_path / "cache")
    found = {int(line.split(":")[1]) for line in ended.stdout.splitlines() if ": error:" in line}
    assert found == {number for number, line in enumerate(WRONG.splitlines(), 1) if "# error" in line}, ended.stdout
