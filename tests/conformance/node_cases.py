#!/usr/bin/env python3
"""The ONNX project's node cases as files, made by its own package: node_cases.py FOLDER

FOLDER/node/NAME/model.onnx and test_data_set_N/{input,output}_J.pb, as the suite's other kinds lie in the package: those are copied beside them. Needs `onnx`.
"""
import os
import shutil
import sys
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def message_of(value, info):
    """The protobuf message of one input or output."""
    if hasattr(value, "SerializeToString"):
        return value
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, info.name)
    if info.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, info.name)
    if info.type.HasField("map_type"):
        return numpy_helper.from_dict(value, info.name)
    return numpy_helper.from_array(numpy.asarray(value), info.name)


def write(path, message):
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def write_case(folder, case):
    os.makedirs(folder)
    write(os.path.join(folder, "model.onnx"), case.model)
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(data)
        for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for place, value in enumerate(values):
                write(os.path.join(data, f"{kind}_{place}.pb"), message_of(value, infos[place]))


def main():
    folder = sys.argv[1]
    warnings.simplefilter("ignore")  # NaN and infinity are what some cases are about
    kept = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for kind in ("light", "pytorch-converted", "pytorch-operator", "real", "simple"):
        shutil.copytree(os.path.join(kept, kind), os.path.join(folder, kind))
    cases = collect_testcases(None)
    for case in cases:
        write_case(os.path.join(folder, "node", case.name), case)
    print(f"{len(cases)} node cases")


if __name__ == "__main__":
    main()
