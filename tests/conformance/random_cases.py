"""What random_graphs.py and random_trees.py share: cases for dyn-conformance with what ONNX Runtime makes of them."""
import collections
import json

import onnx
from onnx import numpy_helper


def write_case(folder, model, sets, tolerances):
    """sets: pairs of the inputs and the outputs, as lists of arrays."""
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    (folder / "data.json").write_text(json.dumps(tolerances))
    for number, arrays_of in enumerate(sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for kind, arrays in zip(("input", "output"), arrays_of):
            for i, array in enumerate(arrays):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def write_cases(folder, count, draw, optimized=True):
    """Calls draw(number, session_of), which gives the name of a case and a function that writes it to a folder, until that was done `count` times: it may throw what
    ONNX Runtime throws for a model that it refuses, or a Refused. Writes names.txt; returns how often each reason stood against one."""
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    errors = onnxruntime.capi.onnxruntime_pybind11_state
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL

    def session_of(model):
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    for kind in ("simple", "pytorch-converted", "pytorch-operator", "real"):  # dyn-conformance looks there too
        (folder / kind).mkdir(parents=True, exist_ok=True)
    names, refused, tried = [], collections.Counter(), 0
    while len(names) < count:
        tried += 1
        name, write = draw(tried, session_of)
        try:
            write(folder / "node" / name)
        except (Refused, errors.RuntimeException, errors.Fail, errors.NotImplemented, errors.InvalidArgument, errors.InvalidGraph) as error:
            refused[f"{name.split('_')[-1]}: {error}"[:200]] += 1
            continue
        names.append("node/" + name)
    (folder / "names.txt").write_text("\n".join(sorted(names)) + "\n")
    return refused


class Refused(Exception):
    """What was drawn does not fit."""
