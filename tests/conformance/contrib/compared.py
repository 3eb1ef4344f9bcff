"""What dyn and ONNX Runtime make of a case, and whether it agrees."""
import multiprocessing
import pathlib
import random
import re
import subprocess
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import helper

from contrib.one_node import CASES

FARTHER = 2
WITHIN_ONE_STEP = 0.999


class Difference(Exception):
    pass


def compared(name, actual, expected, c):
    if actual.shape != expected.shape:
        raise Difference(f"{name} has the shape {list(actual.shape)} instead of {list(expected.shape)}")
    if actual.dtype != expected.dtype:
        raise Difference(f"{name} is {actual.dtype} instead of {expected.dtype}")
    valid = c.masks.get(int(name[1:]))
    if valid is not None:
        valid = numpy.broadcast_to(valid, expected.shape)
        actual, expected = actual[valid], expected[valid]
    if expected.size == 0:
        return
    if expected.dtype.kind in "iu":
        steps = numpy.abs(actual.astype(numpy.int64) - expected.astype(numpy.int64))
        if expected.dtype.itemsize > 1 and steps.any() or (steps <= 1).mean() < WITHIN_ONE_STEP:
            raise Difference(f"{name} differs by {steps.max()} steps, by more than one at {(steps > 1).mean():.2%} of its elements")
        return
    if expected.dtype.kind == "b":
        if (actual != expected).any():
            raise Difference(f"{name} differs")
        return
    hidden = -1e29  # scores of what a mask hides have no agreed value
    actual, expected = (numpy.where(each < hidden, -numpy.inf, each.astype(numpy.float64)) for each in (actual, expected))
    infinite = ~numpy.isfinite(expected)
    if infinite.any() and not (actual[infinite] == expected[infinite]).all():
        raise Difference(f"{name} has other infinities")
    greatest = numpy.abs(expected[~infinite]).max(initial=c.least)
    difference = numpy.abs(actual[~infinite] - expected[~infinite]).max(initial=0)
    if not difference <= c.tolerance * greatest:
        raise Difference(f"{name} differs by {difference / max(greatest, 1e-300):.2g} of its greatest magnitude, {greatest:.3g}")


def nearer_to_exact(name, actual, expected, exact):
    """Where dyn computes more exactly than ONNX Runtime, it may not be further than twice as far from the exact result."""
    ours, theirs = (numpy.abs(each.astype(numpy.float64) - exact).max(initial=0) for each in (actual, expected))
    if not ours <= FARTHER * theirs:
        raise Difference(f"{name} is {ours:.2g} from the exact result, ONNX Runtime {theirs:.2g}")


def runtime_results(model, fed, results):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results.send(dict(zip([each.name for each in session.get_outputs()], session.run(None, fed))))
    except Exception as error:  # the names of its exceptions differ by version
        results.send("ONNX Runtime refuses it: " + " ".join(str(error).split()))


def reference(model, fed):
    """In a process of its own: some versions crash where they should refuse."""
    context = multiprocessing.get_context("fork")
    results, end = context.Pipe(duplex=False)
    child = context.Process(target=runtime_results, args=(model, fed, end))
    child.start()
    end.close()
    try:
        found = results.recv()
    except EOFError:
        found = "ONNX Runtime crashes"
    child.join()
    if isinstance(found, str):
        raise Difference(found)
    return found


def with_output_types(model, results):
    for output in model.graph.output:
        array = results[output.name]
        output.CopyFrom(helper.make_tensor_value_info(output.name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim))
    return model


def dyn(dynrun, model, fed, folder):
    path = folder / "model.onnx"
    onnx.save(model, path)
    command = [str(dynrun), "run", str(path), "--format", "json", "--weight-cache", "0", "--threads", "1", "--save-outputs", str(folder)]
    for name, array in fed.items():
        numpy.save(folder / f"in_{name}.npy", array)
        command += ["--load-inputs", f"{name}={folder / f'in_{name}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Difference("dynrun fails: " + " ".join((done.stderr or f"exit code {done.returncode}").split()))
    return {output.name: numpy.load(folder / (re.sub(r"[^\w.-]", "_", output.name) + ".npy")) for output in model.graph.output}


def run(name, number, arguments):
    c = CASES[name](random.Random(f"{arguments.seed} {name} {number}"))
    model = c.model()
    with tempfile.TemporaryDirectory(prefix="dyn-contrib-") as folder:
        if arguments.keep:
            folder = arguments.keep
        try:
            expected = reference(model, c.fed)
            actual = dyn(arguments.dynrun, with_output_types(model, expected), c.fed, pathlib.Path(folder))
            exact = reference(*c.exact) if c.exact else None
            for output, array in expected.items():
                try:
                    compared(output, actual[output], array, c)
                except Difference:
                    if exact is None:
                        raise
                    nearer_to_exact(output, actual[output], array, exact[output])
        except Difference as difference:
            shapes = ", ".join(f"{each} {list(c.fed[each].shape) if each in c.fed else 'constant'}" for each in c.names if each)
            raise Difference(f"{difference}; {c.attributes}, {shapes}") from difference
