#!/usr/bin/env python3
"""The ONNX project's nine light CNNs with random weights: dyn beside ONNX Runtime.

  light_models.py --dynrun build/release/bin/dynrun --data FOLDER [--models resnet50 vgg19] [--batches 1 4 64] [--sizes 64 317] [--seed 1]
  light_models.py --dynrun build/release/bin/dynrun --data FOLDER --constant-weights

FOLDER holds light_NAME.onnx, such as onnx/backend/test/data/light of the package onnx. Their weights are constants, so that their outputs are too, and prove little:
here they are seeded random ones, of a size by which activations keep their variance, written to a file that both load. Other batches and sizes than the file's are
asked of dyn with `--free`; the reference is always ONNX Runtime on a file of one image, image by image. Outputs are compared before the last softmax, and after it
where it does not saturate: no element may differ by more than 1e-4 of the reference's standard deviation, of probabilities by 1e-4 of the greatest. A reference that
hardly varies, over its elements or from image to image, proves nothing: comparing with it is an error. --constant-weights: the files as they are, each of which must be refused for that.

Prints "ok NAME: ...", "failed NAME: why" and "skipped NAME: why" lines. Needs, from PyPI: onnx, onnxruntime and numpy.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

NAMES = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512"]
WITH_FREE_SIZE = {"densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet"}
TOLERANCE = 1e-4
LEAST_SPREAD = 1e-2  # standard deviation over greatest magnitude
SATURATED = 0.99


class FlatReference(Exception):
    pass


def refuse_flat(reference):
    """reference: an image in each row, of which there are at least two."""
    if not numpy.isfinite(reference).all():
        raise FlatReference("it is not finite")
    rows = reference.reshape(len(reference), -1).astype(numpy.float64)
    greatest = numpy.abs(rows).max()
    for spread, over in ((rows.std(axis=1).min(), "its elements"), (rows.std(axis=0).max(), "images")):
        if not spread > LEAST_SPREAD * greatest:
            raise FlatReference(f"the reference's standard deviation over {over} is {spread:.2g}, with {greatest:.2g} as its greatest magnitude")


# ---- weights

def weight_users(graph):
    users = {}
    for node in graph.node:
        for place, name in enumerate(node.input):
            users.setdefault(name, []).append((node, place))
    return users


def constants_of(graph):
    return {tensor.name: tensor for tensor in graph.initializer}


def final_use(graph, name, shape, users, constants):
    """What reads a weight, behind reshapes of it: the node, the input's place, and the shape in which it is read."""
    node, place = users[name][0]
    if node.op_type == "Reshape" and place == 0:
        return final_use(graph, node.output[0], [int(dim) for dim in numpy_helper.to_array(constants[node.input[1]])], users, constants)
    if node.op_type == "Unsqueeze":
        return final_use(graph, node.output[0], shape, users, constants)
    return node, place, shape


def random_weight(random, node, place, read_shape, shape):
    normal = random.standard_normal(shape)
    if node.op_type == "Conv" and place == 1:
        return normal * numpy.sqrt(2 / numpy.prod(read_shape[1:]))
    if node.op_type == "Gemm" and place == 1:
        transposed = any(each.name == "transB" and each.i for each in node.attribute)
        return normal * numpy.sqrt(2 / read_shape[1 if transposed else 0])
    if (node.op_type == "BatchNormalization" and place in (1, 4)) or node.op_type == "Mul":
        return random.uniform(0.5, 1.5, shape)
    if node.op_type in ("Conv", "Gemm", "BatchNormalization", "Add"):
        return normal * 0.1
    raise ValueError(f"no rule for input {place} of {node.op_type}")


def randomize(model, seed):
    """Each ConstantOfShape, and each initializer of floats, as an initializer with random elements."""
    graph = model.graph
    random = numpy.random.default_rng(seed)
    users, constants = weight_users(graph), constants_of(graph)
    weights, others, nodes = [], [], []
    shapes = {node.output[0]: [int(dim) for dim in numpy_helper.to_array(constants[node.input[0]])] for node in graph.node if node.op_type == "ConstantOfShape"}
    shapes.update((name, list(tensor.dims)) for name, tensor in constants.items() if tensor.data_type == onnx.TensorProto.FLOAT and name in users)
    for name, shape in shapes.items():
        node, place, read_shape = final_use(graph, name, shape, users, constants)
        elements = random_weight(random, node, place, read_shape, shape).astype(numpy.float32)
        weights.append(numpy_helper.from_array(elements, name))
    of_shapes = {node.input[0] for node in graph.node if node.op_type == "ConstantOfShape"}
    others = [tensor for name, tensor in constants.items() if name in users and name not in shapes and name not in of_shapes]
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    for field, items in ((graph.initializer, weights + others), (graph.node, nodes)):
        kept = [type(item).FromString(item.SerializeToString()) for item in items]
        del field[:]
        field.extend(kept)


def plain(model):
    """Initializers that are no inputs, which needs IR version 4, and no shapes but the inputs'."""
    graph = model.graph
    constants = constants_of(graph)
    inputs = [each for each in graph.input if each.name not in constants]
    model.ir_version = max(model.ir_version, 4)
    kept = [onnx.ValueInfoProto.FromString(each.SerializeToString()) for each in inputs]
    del graph.input[:]
    graph.input.extend(kept)
    del graph.value_info[:]
    for output in graph.output:
        output.type.tensor_type.ClearField("shape")


def show_logits(model):
    """What the last softmax reads becomes the first output."""
    graph = model.graph
    last = graph.node[-1]
    if last.op_type != "Softmax":
        return
    logits = onnx.helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, None)
    outputs = [logits, *graph.output]
    kept = [onnx.ValueInfoProto.FromString(each.SerializeToString()) for each in outputs]
    del graph.output[:]
    graph.output.extend(kept)


# ---- the reference at another size

def shapes_of(model):
    graph = onnx.shape_inference.infer_shapes(model).graph
    return {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in [*graph.value_info, *graph.input, *graph.output]}


def pool_globally(model):
    """A pool of one window over all of its input, with padding that does not count, means the whole image, whatever its size."""
    shapes = shapes_of(model)
    for node in model.graph.node:
        if node.op_type != "AveragePool":
            continue
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        extents, pads = shapes[node.input[0]][2:], attributes.get("pads", [0, 0, 0, 0])
        padded = [extent + before + after for extent, before, after in zip(extents, pads, pads[len(extents):])]
        if list(attributes["kernel_shape"]) == padded and (not any(pads) or not attributes.get("count_include_pad", 0)):
            node.op_type = "GlobalAveragePool"
            del node.attribute[:]


def resize(model, size):
    """One image of size x size: dims of reshapes that are those of the picture follow it."""
    pool_globally(model)
    before = shapes_of(model)
    for place in (2, 3):
        model.graph.input[0].type.tensor_type.shape.dim[place].dim_value = size
    constants = constants_of(model.graph)
    for node in [node for node in model.graph.node if node.op_type == "Reshape" and node.input[1] in constants]:
        shape = [int(dim) for dim in numpy_helper.to_array(constants[node.input[1]])]
        old, new = before.get(node.input[0], []), shapes_of(model).get(node.input[0], [])
        if len(shape) > 2 and shape[-2:] == old[-2:]:
            shape[-2:] = new[-2:]
            constants[node.input[1]].CopyFrom(numpy_helper.from_array(numpy.array(shape, numpy.int64), node.input[1]))


# ---- running

def random_images(random, count, size):
    """Patches of colours below noise: of noise alone, all images have the same means, and networks that end in means cannot tell them apart."""
    patches = random.standard_normal((count, 3, 4, 4)) * random.uniform(1, 4, (count, 1, 1, 1))
    places = numpy.arange(size) * 4 // size
    return (patches[:, :, places][:, :, :, places] + random.standard_normal((count, 3, size, size))).astype(numpy.float32)


class Pair:
    """dyn and ONNX Runtime on files with the same weights."""

    def __init__(self, arguments, name, folder):
        self.arguments, self.folder, self.name = arguments, folder, name
        self.model = onnx.load(pathlib.Path(arguments.data) / f"light_{name}.onnx")
        plain(self.model)
        if not arguments.constant_weights:
            randomize(self.model, arguments.seed)
        show_logits(self.model)
        self.file = folder / f"{name}.onnx"
        onnx.save(self.model, self.file)
        self.input = self.model.graph.input[0].name
        self.size = self.model.graph.input[0].type.tensor_type.shape.dim[2].dim_value
        self.outputs = [output.name for output in self.model.graph.output]
        self.sessions = {}

    def session(self, size):
        if size not in self.sessions:
            file = self.file
            if size != self.size:
                resized = onnx.ModelProto.FromString(self.model.SerializeToString())
                resize(resized, size)
                file = self.folder / f"{self.name}-{size}.onnx"
                onnx.save(resized, file)
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            self.sessions = {size: onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])}
        return self.sessions[size]

    def reference(self, images):
        runs = [self.session(images.shape[2]).run(None, {self.input: image[None]}) for image in images]
        return [numpy.concatenate(parts) for parts in zip(*runs)]

    def dyn(self, images, frees):
        numpy.save(self.folder / "input.npy", images)
        command = [self.arguments.dynrun, "run", str(self.file), "--load-inputs", f"{self.input}={self.folder / 'input.npy'}", "--save-outputs", str(self.folder / "outputs"),
                   "--format", "json", "--weight-cache", "0"]
        if self.arguments.threads:
            command += ["--threads", str(self.arguments.threads)]
        if frees:
            sides = "H,W" if self.name in WITH_FREE_SIZE else f"{self.size},{self.size}"
            command += ["--free", f"{self.input}=N,3,{sides}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(" ".join((done.stderr or f"exit code {done.returncode}").split()))
        return [numpy.load(self.folder / "outputs" / f"{name.replace('/', '_')}.npy") for name in self.outputs]

    def compare(self, batch, size):
        """The largest difference, relative to the reference, and whether the softmax saturates."""
        random = numpy.random.default_rng([self.arguments.seed, batch, size])
        images = random_images(random, max(batch, 2), size)
        references = self.reference(images)
        refuse_flat(references[0])
        if numpy.mean(references[-1].reshape(len(images), -1).max(axis=1) > SATURATED) > 0.1:
            references = references[:1]
        actual = self.dyn(images[:batch], batch != 1 or size != self.size)
        worst = 0.0
        for place, (output, reference) in enumerate(zip(actual, references)):
            reference = reference[:batch].astype(numpy.float64)
            if output.shape != reference.shape:
                raise RuntimeError(f"shape {output.shape} instead of {reference.shape}")
            difference = numpy.abs(output - reference).max() / (reference.std() if place == 0 else reference.max())
            worst = max(worst, float(difference if numpy.isfinite(difference) else numpy.inf))
        return worst, len(references) < len(self.outputs)


def report(label, function):
    """True where it did not fail."""
    try:
        print(f"ok {label}: {function()}", flush=True)
        return True
    except Exception as error:  # whatever goes wrong with one model, the others are compared
        print(f"failed {label}: {' '.join(str(error).split())[:400]}", flush=True)
        return False


def refused_by_both(pair, batch, size, reason):
    """For a size at which ONNX Runtime says that a network's parts do not fit together: dyn must say so too, by the node's name."""
    images = numpy.zeros((batch, 3, size, size), numpy.float32)
    try:
        pair.dyn(images, True)
    except RuntimeError as error:
        if f'"{reason["node"]}"' in str(error) and "must be equal" in str(error):
            return f"refused by both: {error}"
        raise
    raise RuntimeError(f"dyn ran what ONNX Runtime refuses at {reason['node']}")


def compared(pair, batch, size):
    try:
        worst, saturates = pair.compare(batch, size)
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
        reason = re.search(r"Node \((?P<node>[^)]*)\) Op \(Concat\) \[ShapeInferenceError\]", str(error))
        if reason is None:
            raise
        return refused_by_both(pair, batch, size, reason)
    text = f"{worst:.1e}{', before the softmax, which saturates' if saturates else ''}"
    if worst > TOLERANCE:
        raise RuntimeError(text)
    return text


def refused(pair):
    try:
        pair.compare(1, pair.size)
    except FlatReference as flat:
        return str(flat)
    raise RuntimeError("constant weights were compared")


def frees_dims(dynrun):
    return "--free" in subprocess.run([dynrun, "run", "--help"], capture_output=True, text=True).stdout


def check_model(arguments, name, can_free):
    good = True
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(arguments, name, pathlib.Path(folder))
        if arguments.constant_weights:
            return report(f"light_models.{name}.refused", lambda: refused(pair))
        cases = [(batch, pair.size) for batch in arguments.batches] + [(arguments.batches[0], size) for size in arguments.sizes if name in WITH_FREE_SIZE]
        for batch, size in cases:
            label = f"light_models.{name}.{batch}x{size}"
            if can_free or (batch, size) == (1, pair.size):
                good &= report(label, lambda: compared(pair, batch, size))
            else:
                print(f"skipped {label}: this dynrun has no --free")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", required=True)
    parser.add_argument("--data", required=True, help="the folder with light_NAME.onnx")
    parser.add_argument("--models", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--batches", nargs="+", type=int, default=[1])
    parser.add_argument("--sizes", nargs="*", type=int, default=[], help="of images, at the first batch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--constant-weights", action="store_true", help="as they are: each must be refused")
    arguments = parser.parse_args()
    can_free = frees_dims(arguments.dynrun)
    results = [check_model(arguments, name, can_free) for name in arguments.models]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
