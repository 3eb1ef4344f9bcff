"""An ONNX file's description of itself, read from the fields of its protobuf message that hold it."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from .errors import DeviceError, ModelError

#: ONNX Runtime's version of a model that has none.
_NO_VERSION = 2**63 - 1


@dataclass
class ModelMetadata:
    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = _NO_VERSION
    custom_metadata_map: dict[str, str] = field(default_factory=dict)


def read_metadata(path_or_bytes: str | os.PathLike[str] | bytes) -> ModelMetadata:
    """Skips nodes and weights. Raises DeviceError where the file is gone, ModelError where it is cut."""
    if isinstance(path_or_bytes, str | os.PathLike):
        if os.fsdecode(path_or_bytes).endswith(".dyn"):
            return ModelMetadata()
        try:
            with open(path_or_bytes, "rb") as file:
                return _read_model(file)
        except OSError as error:
            raise DeviceError(f"cannot read '{os.fsdecode(path_or_bytes)}': {error.strerror}") from error
    return _read_model(io.BytesIO(path_or_bytes))


def _read_model(file: BinaryIO) -> ModelMetadata:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    metadata = ModelMetadata()
    for number, value in _fields(file, size):
        if number == 5:  # model_version
            metadata.version = value
        elif number in (2, 4, 6):  # producer_name, domain, doc_string
            setattr(metadata, {2: "producer_name", 4: "domain", 6: "description"}[number], _text(file, value))
        elif number == 7:  # graph
            for part, length in _fields(file, file.tell() + value):
                if part in (2, 10):  # name, doc_string
                    setattr(metadata, {2: "graph_name", 10: "graph_description"}[part], _text(file, length))
        elif number == 14:  # metadata_props
            entry = {1: "", 2: ""}
            for part, length in _fields(file, file.tell() + value):
                if part in entry:
                    entry[part] = _text(file, length)
            metadata.custom_metadata_map[entry[1]] = entry[2]
    return metadata


def _fields(file: BinaryIO, end: int) -> Iterator[tuple[int, int]]:
    """Each field's number, and its value, or the length of the bytes that follow; whoever reads them need not read all."""
    while file.tell() < end:
        tag = _varint(file)
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, _varint(file)
            continue
        length = {1: 8, 5: 4}.get(kind)
        if length is None:
            if kind != 2:
                raise ModelError("not a whole ONNX model")
            length = _varint(file)
        begin = file.tell()
        if begin + length > end:
            raise ModelError("not a whole ONNX model")
        if kind == 2:
            yield tag >> 3, length
        file.seek(begin + length)


def _varint(file: BinaryIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            break
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    raise ModelError("not a whole ONNX model")


def _text(file: BinaryIO, length: int) -> str:
    return file.read(length).decode("utf-8", "replace")
