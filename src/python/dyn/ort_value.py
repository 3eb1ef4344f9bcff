"""OrtValue: a tensor that lives from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from ._dyn import Tensor
from .errors import UnsupportedError, UserError
from .onnx_types import dtype_of, element_type, tensor_type


def check_device(device_type: object, what: str) -> None:
    """ONNX Runtime's names of devices: this package has the host's memory alone."""
    if device_type not in ("cpu", 0):
        raise UnsupportedError(f"{what} on the device {device_type!r}: dyn's Python has tensors in the host's memory, 'cpu', alone")


class OrtValue:
    """A tensor in the host's memory, which is not copied: one of NumPy, or new memory."""

    def __init__(self, tensor: object) -> None:
        self._tensor = tensor if isinstance(tensor, Tensor) else Tensor(tensor)

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: object, /, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """A view of the array's memory; a copy of one that is not dense."""
        check_device(device_type, "an OrtValue")
        if numpy_obj is None:
            raise UserError("an OrtValue is made of an array, not of None")
        return OrtValue(numpy.require(numpy_obj, requirements=["C", "ALIGNED"]) if isinstance(numpy_obj, numpy.ndarray) else numpy_obj)

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: object, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """New memory. element_type: NumPy's, or ONNX's number."""
        check_device(device_type, "an OrtValue")
        return OrtValue(Tensor(dtype_of(element_type), shape))

    @staticmethod
    def from_dlpack(data: object, is_bool_tensor: bool = False) -> OrtValue:
        """A view of what speaks DLPack."""
        value = OrtValue(data)
        return OrtValue(value.numpy().view(numpy.bool_)) if is_bool_tensor and value._tensor.dtype == "u8" else value

    def numpy(self) -> NDArray[Any]:
        """An array over the same memory."""
        return self._tensor.numpy()

    def update_inplace(self, np_arr: object) -> None:
        """Copies the array into the memory."""
        given = numpy.asarray(np_arr)
        own = self._tensor.numpy()
        if given.shape != own.shape or given.dtype != own.dtype:
            raise UserError(f"an OrtValue of {own.dtype}{list(own.shape)} cannot take {given.dtype}{list(given.shape)}")
        own[...] = given

    def shape(self) -> list[int]:
        return list(self._tensor.shape)

    def data_type(self) -> str:
        """'tensor(float)'"""
        return tensor_type(self._tensor.dtype)

    def element_type(self) -> int:
        """ONNX's number."""
        return element_type(self._tensor.dtype)

    def data_ptr(self) -> int:
        return self._tensor.address

    def tensor_size_in_bytes(self) -> int:
        return self._tensor.nbytes

    def device_name(self) -> str:
        return "cpu"

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return True

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return False

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray[Any]:
        return self._tensor.__array__(dtype, copy)

    def __dlpack__(
        self, *, stream: object = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None
    ) -> object:
        return self._tensor.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()

    def __repr__(self) -> str:
        return f"<dyn.OrtValue {self.data_type()}{self.shape()}>"
