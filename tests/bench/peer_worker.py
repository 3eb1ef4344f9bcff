#!/usr/bin/env python3
"""A peer of `dynrun op` for PyTorch, oneDNN inside PyTorch, and ONNX Runtime, over the protocol of docs/peers.md.

    dynrun op matmul ... --peers "pytorch=exec:PYTHON tests/bench/peer_worker.py pytorch"

pytorch: torch.matmul and the functions of torch. torch_onednn: the oneDNN that PyTorch carries, with weights that it reordered before.
onnxruntime: a model of one node for each copy of the operator. Operands are random: f32, for products in PyTorch bf16 too, in ONNX Runtime u8 by i8. Needs numpy, and torch or onnxruntime with onnx.
"""

import statistics
import sys
import time
import urllib.parse

PROTOCOL_VERSION = 1
BATCH_SECONDS = 20e-6


class Refused(Exception):
    """This problem cannot be done; the reason."""


class Problem:
    def __init__(self, text):
        words = text.split()
        self.op, self.copies, self.attributes, self.operands = words[0], 1, {}, []
        for word in words[1:]:
            name, value = word.split("=", 1)
            if name == "copies":
                self.copies = int(value)
            elif name.startswith("@"):
                self.attributes[name[1:]] = value
            else:
                dtype, shape = value.split(":")
                entry = (name == "weight", dtype, [int(size) for size in shape.split("x")] if shape else [])
                if name == "output":
                    self.output = entry
                else:
                    self.operands.append(entry)

    def require_dtypes(self, *allowed):
        """Refuses operands whose dtypes, joined by commas, are none of these."""
        dtypes = ",".join(dtype for _, dtype, _ in self.operands)
        if set(dtypes.split(",")) != {"f32"} and dtypes not in allowed:
            raise Refused(f"operands of {dtypes}")

    def flag(self, name):
        return self.attributes.get(name) == "true"

    def integers(self, name):
        text = self.attributes.get(name, "").strip("[]")
        return [int(item) for item in text.split(",")] if text else []

    def axis(self, default=-1):
        return int(self.attributes.get("axis", default))

    def number(self, name, default):
        return float(self.attributes.get(name, default))


def torch_function(torch, problem):
    """A function of one copy's operands."""
    functional = torch.nn.functional
    op = problem.op
    if op == "matmul":
        # Transposed operands are views of what lies in memory.
        ta, tb = problem.flag("transpose_a"), problem.flag("transpose_b")
        return lambda a, b: torch.matmul(a.mT if ta else a, b.mT if tb else b)
    if op == "softmax":
        return lambda x: torch.softmax(x, problem.axis())
    if op == "layer_norm":
        return lambda x, weight, bias: functional.layer_norm(x, x.shape[-1:], weight, bias, problem.number("epsilon", 1e-5))
    if op == "transpose":
        return lambda x: x.permute(problem.integers("perm")).contiguous()
    if op == "gelu":
        return functional.gelu
    if op == "concat":
        return lambda *parts: torch.cat(parts, problem.axis())
    if op in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min"):
        axes = problem.integers("axes") or list(range(len(problem.operands[0][2])))
        keep = problem.attributes.get("keepdims") != "false"
        function = {"reduce_sum": torch.sum, "reduce_mean": torch.mean, "reduce_max": torch.amax, "reduce_min": torch.amin}[op]
        return lambda x: function(x, axes, keep)
    simple = {name: name for name in ("exp", "log", "tanh", "erf", "sigmoid", "sqrt", "rsqrt", "abs", "neg", "relu", "maximum",
                                      "minimum", "add", "sub", "mul", "div")}
    if op not in simple or problem.attributes:
        raise Refused(f"nothing of PyTorch stands for {op} here")
    return getattr(torch, simple[op])


class PyTorch:
    def __init__(self, threads):
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch = torch
        self.version = f"PyTorch {torch.__version__}"

    def copy(self, problem):
        dtypes = {"f32": self.torch.float32, "bf16": self.torch.bfloat16}
        return [(self.torch.rand(shape) * 2 - 1).to(dtypes[dtype]) for _, dtype, shape in problem.operands]

    def prepare(self, problem):
        problem.require_dtypes("bf16,bf16")
        function = torch_function(self.torch, problem)
        copies = [self.copy(problem) for _ in range(problem.copies)]
        # PyTorch's allocator hands the same memory out again and again; results that are kept are as cold as dyn's.
        kept = [None] * problem.copies

        def iterate():
            for index, operands in enumerate(copies):
                kept[index] = function(*operands)

        iterate()
        if list(kept[0].shape) != problem.output[2]:
            raise Refused(f"the result has shape {list(kept[0].shape)}")
        return iterate


class TorchOneDnn(PyTorch):
    def __init__(self, threads):
        super().__init__(threads)
        if not self.torch.backends.mkldnn.is_available():
            raise Refused("PyTorch was built without oneDNN")
        self.version += " (its oneDNN)"

    def prepare(self, problem):
        torch = self.torch
        problem.require_dtypes("bf16,bf16")
        constant = problem.op == "matmul" and problem.operands[1][0] and len(problem.operands[0][2]) == 2
        if not constant or problem.flag("transpose_a"):
            raise Refused("only matmuls with a constant second operand")
        copies = []
        for _ in range(problem.copies):
            a, b = self.copy(problem)
            weight = b if problem.flag("transpose_b") else b.mT.contiguous()
            copies.append((a, torch.ops.mkldnn._reorder_linear_weight(weight, a.shape[0])))
        linear = torch.ops.mkldnn._linear_pointwise
        kept = [None] * problem.copies

        def iterate():
            for index, (a, weight) in enumerate(copies):
                kept[index] = linear(a, weight, None, "none", [], "")

        iterate()
        return iterate


ONNX_NAMES = {"matmul": "MatMul", "softmax": "Softmax", "layer_norm": "LayerNormalization", "transpose": "Transpose", "exp": "Exp",
              "tanh": "Tanh", "erf": "Erf", "sigmoid": "Sigmoid", "relu": "Relu", "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div",
              "sqrt": "Sqrt", "log": "Log", "gelu": "Gelu", "reduce_mean": "ReduceMean", "reduce_sum": "ReduceSum", "reduce_max": "ReduceMax",
              "reduce_min": "ReduceMin"}


class OnnxRuntime:
    def __init__(self, threads):
        import numpy
        import onnx
        import onnxruntime

        self.numpy, self.onnx, self.runtime, self.threads = numpy, onnx, onnxruntime, threads
        self.random = numpy.random.default_rng(1)
        self.version = f"ONNX Runtime {onnxruntime.__version__}"

    def array(self, shape, dtype="f32"):
        if dtype in ("u8", "i8"):
            return self.random.integers(0 if dtype == "u8" else -127, 256 if dtype == "u8" else 128, shape).astype({"u8": "uint8", "i8": "int8"}[dtype])
        return self.random.random(shape, dtype=self.numpy.float32) * 2 - 1

    def attributes(self, problem):
        if problem.op == "softmax":
            return {"axis": problem.axis()}
        if problem.op == "layer_norm":
            return {"axis": -1, "epsilon": problem.number("epsilon", 1e-5)}
        if problem.op == "transpose":
            return {"perm": problem.integers("perm")}
        if problem.op.startswith("reduce_"):
            return {"keepdims": int(problem.attributes.get("keepdims") != "false")}
        return {}

    def add_copy(self, problem, copy, parts):
        helper = self.onnx.helper
        names = []
        types = {"f32": self.onnx.TensorProto.FLOAT, "u8": self.onnx.TensorProto.UINT8, "i8": self.onnx.TensorProto.INT8}
        for index, (constant, dtype, shape) in enumerate(problem.operands):
            name = f"operand{index}_{copy}"
            if constant:
                # Packed once when the session is made; a transposed weight lies the other way round then, which costs nothing later.
                value = self.array(shape, dtype)
                if index == 1 and problem.flag("transpose_b"):
                    value = value.swapaxes(-1, -2).copy()
                parts["weights"].append(self.onnx.numpy_helper.from_array(value, name))
            else:
                parts["inputs"].append(helper.make_tensor_value_info(name, types[dtype], shape))
            names.append(name)
        for index, flag in enumerate(("transpose_a", "transpose_b")):
            if problem.flag(flag) and not problem.operands[index][0]:
                axes = list(range(len(problem.operands[index][2])))
                axes[-2:] = reversed(axes[-2:])
                parts["nodes"].append(helper.make_node("Transpose", [names[index]], [names[index] + "_t"], perm=axes))
                names[index] += "_t"
        if problem.op.startswith("reduce_") and problem.integers("axes"):
            axes = self.numpy.array(problem.integers("axes"), self.numpy.int64)
            parts["weights"].append(self.onnx.numpy_helper.from_array(axes, f"axes_{copy}"))
            names.append(f"axes_{copy}")
        whole = problem.output[1] == "i32"
        parts["nodes"].append(helper.make_node("MatMulInteger" if whole else ONNX_NAMES[problem.op], names, [f"y_{copy}"], **self.attributes(problem)))
        parts["outputs"].append(helper.make_tensor_value_info(f"y_{copy}", self.onnx.TensorProto.INT32 if whole else self.onnx.TensorProto.FLOAT, problem.output[2]))

    def session_options(self):
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return options

    def prepare_model(self, problem):
        """A whole model. Integers are ones: they index everything, and as masks hide nothing."""
        path = urllib.parse.unquote(problem.attributes["file"])
        if not path.endswith(".onnx"):
            raise Refused("no ONNX file")
        session = self.runtime.InferenceSession(path, self.session_options(), providers=["CPUExecutionProvider"])
        if len(session.get_inputs()) != len(problem.operands):
            raise Refused(f"the model has {len(session.get_inputs())} inputs here, not {len(problem.operands)}")
        types = {"f32": "float32", "f64": "float64", "f16": "float16", "bool": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}
        feeds = {}
        for value, (_, dtype, shape) in zip(session.get_inputs(), problem.operands):
            if dtype not in types or value.type == "tensor(string)":
                raise Refused(f"an input of {value.type}")
            feeds[value.name] = self.array(shape).astype(types[dtype]) if dtype.startswith("f") else self.numpy.ones(shape, types[dtype])

        def iterate():
            session.run(None, feeds)

        iterate()
        return iterate

    def prepare(self, problem):
        if problem.op == "model":
            return self.prepare_model(problem)
        if problem.op not in ONNX_NAMES:
            raise Refused(f"nothing of ONNX Runtime stands for {problem.op} here")
        problem.require_dtypes(*(["u8,i8"] if problem.op == "matmul" else []))
        size = sum(4 * self.numpy.prod(shape) for constant, _, shape in problem.operands if constant) * problem.copies
        if size > 1.9e9:
            raise Refused("weights beyond 2 GB in one ONNX model")
        parts = {"nodes": [], "inputs": [], "outputs": [], "weights": []}
        for copy in range(problem.copies):
            self.add_copy(problem, copy, parts)
        helper = self.onnx.helper
        graph = helper.make_graph(parts["nodes"], "op", parts["inputs"], parts["outputs"], parts["weights"])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        session = self.runtime.InferenceSession(model.SerializeToString(), self.session_options(), providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        self.held = []
        names = {self.onnx.TensorProto.FLOAT: "f32", self.onnx.TensorProto.UINT8: "u8", self.onnx.TensorProto.INT8: "i8"}
        for value in parts["inputs"]:
            shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            self.held.append(self.runtime.OrtValue.ortvalue_from_numpy(self.array(shape, names[value.type.tensor_type.elem_type])))
            binding.bind_ortvalue_input(value.name, self.held[-1])
        for value in parts["outputs"]:
            self.held.append(self.runtime.OrtValue.ortvalue_from_shape_and_type(problem.output[2], self.numpy.int32 if problem.output[1] == "i32" else self.numpy.float32))
            binding.bind_ortvalue_output(value.name, self.held[-1])

        def iterate():
            session.run_with_iobinding(binding)

        iterate()
        return iterate


def time_slice(seconds, iterate):
    """Median seconds of one iteration, and how many there were; as dyn-peer does it."""

    def spent(count):
        start = time.perf_counter()
        for _ in range(count):
            iterate()
        return time.perf_counter() - start

    first = spent(1)
    if first >= seconds:
        return first, 1
    samples, total, count, batch = [], 0, 0, 1
    while not samples or total < seconds:
        taken = spent(batch)
        total += taken
        count += batch
        if taken < BATCH_SECONDS and not samples:
            batch *= 2
        else:
            samples.append(taken / batch)
    return statistics.median(samples), count


class Service:
    def __init__(self, kind):
        self.kind, self.backend, self.iterate = kind, None, None

    def answer(self, word, rest):
        if word == "hello":
            version, threads = rest.split()
            if int(version) != PROTOCOL_VERSION:
                return f"error speaks version {PROTOCOL_VERSION} of the protocol"
            self.backend = self.kind(int(threads.removeprefix("threads=")))
            return f"ok {self.backend.version}"
        if word == "problem":
            self.iterate = None
            self.iterate = self.backend.prepare(Problem(rest))
            return "ok"
        if word == "time":
            seconds, count = time_slice(float(rest), self.iterate)
            return f"ok {seconds:.9g} {count}"
        if word == "done":
            self.iterate = None
            return "ok"
        return f'error unknown request "{word}"'


def main():
    kinds = {"pytorch": PyTorch, "torch_onednn": TorchOneDnn, "onnxruntime": OnnxRuntime}
    if len(sys.argv) != 2 or sys.argv[1] not in kinds:
        raise SystemExit(f"usage: {sys.argv[0]} {'|'.join(kinds)}")
    service = Service(kinds[sys.argv[1]])
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        try:
            answer = service.answer(word, rest)
        except (Refused, ImportError) as error:
            answer = f"no {error}"
        except Exception as error:  # noqa: BLE001 - whatever a library throws becomes one line
            answer = "no " + " ".join(f"{type(error).__name__}: {error}".split())[:300]
        print(answer, flush=True)


if __name__ == "__main__":
    main()
