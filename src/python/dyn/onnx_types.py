"""Element types as ONNX names and numbers them."""

from __future__ import annotations

from ._dyn import dtype_name
from .errors import UserError

#: dyn's name: ONNX's name, and its number in TensorProto.DataType.
_TYPES: dict[str, tuple[str, int]] = {
    "f32": ("float", 1),
    "u8": ("uint8", 2),
    "i8": ("int8", 3),
    "u16": ("uint16", 4),
    "i16": ("int16", 5),
    "i32": ("int32", 6),
    "i64": ("int64", 7),
    "bool": ("bool", 9),
    "f16": ("float16", 10),
    "f64": ("double", 11),
    "u32": ("uint32", 12),
    "u64": ("uint64", 13),
    "bf16": ("bfloat16", 16),
    "f8e4m3fn": ("float8e4m3fn", 17),
    "f8e4m3fnuz": ("float8e4m3fnuz", 18),
    "f8e5m2": ("float8e5m2", 19),
    "f8e5m2fnuz": ("float8e5m2fnuz", 20),
    "u4": ("uint4", 21),
    "i4": ("int4", 22),
    "f4e2m1": ("float4e2m1", 23),
    "f8e8m0": ("float8e8m0", 24),
    "u2": ("uint2", 25),
    "i2": ("int2", 26),
}
_BY_NUMBER = {number: dtype for dtype, (_, number) in _TYPES.items()}


def tensor_type(dtype: str) -> str:
    """'tensor(float)' of "f32"."""
    return f"tensor({_TYPES[dtype][0]})"


def element_type(dtype: str) -> int:
    """ONNX's number of "f32"."""
    return _TYPES[dtype][1]


def dtype_of(element: object) -> str:
    """dyn's name of a number of ONNX, or of whatever numpy.dtype() takes."""
    if isinstance(element, int) and not isinstance(element, bool):
        if element not in _BY_NUMBER:
            raise UserError(f"ONNX's element type {element} is no dtype of dyn")
        return _BY_NUMBER[element]
    return dtype_name(element)
