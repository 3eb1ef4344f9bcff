"""IOBinding: inputs and outputs of an InferenceSession that are bound once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from ._dyn import Cancellation, Graph, Profile, Tensor
from .errors import UserError
from .onnx_types import dtype_of
from .ort_value import OrtValue, check_device


def _tensor_of(name: str, value: object) -> Tensor:
    if not isinstance(value, OrtValue):
        raise UserError(f"'{name}' is bound to {value!r}, which is no dyn.OrtValue")
    return value._tensor


def _memory_at(what: str, element_type: object, shape: Sequence[int], address: int) -> Tensor:
    if not isinstance(address, int) or not 0 <= address < 2**64:
        raise UserError(f"{what} is bound to {address!r}, which is no address")
    return Tensor._at_address(dtype_of(element_type), shape, address)


class IOBinding:
    """Made by InferenceSession.io_binding(). For one thread."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._input_names = {port.name for port in graph.inputs}
        self._output_names = {port.name for port in graph.outputs}
        self._inputs: dict[str, object] = {}
        self._outputs: dict[str, object] = {}  # None: a run allocates it
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: object) -> None:
        """The array's memory, read by each run as it is then, if it is dense."""
        self._bind_input(name, arr_on_cpu)

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: object, shape: Sequence[int], buffer_ptr: int) -> None:
        """Memory at an address, which must stay as long as it is bound."""
        check_device(device_type, f"input '{name}'")
        self._bind_input(name, _memory_at(f"input '{name}'", element_type, shape, buffer_ptr))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self._bind_input(name, _tensor_of(name, ortvalue))

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: object = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Memory at an address; without one each run makes new memory."""
        check_device(device_type, f"output '{name}'")
        if buffer_ptr is None:
            self._bind_output(name, None)
            return
        if element_type is None or shape is None:
            raise UserError(f"output '{name}' is bound to an address, without its element type and shape")
        self._bind_output(name, _memory_at(f"output '{name}'", element_type, shape, buffer_ptr))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._bind_output(name, _tensor_of(name, ortvalue))

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results = []

    def synchronize_inputs(self) -> None:
        """Nothing to wait for."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for."""

    def get_outputs(self) -> list[OrtValue]:
        """Those of the last run that are bound, in the order in which they were."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[NDArray[Any]]:
        return [value.numpy() for value in self._results]

    def _bind_input(self, name: str, value: object) -> None:
        if name not in self._input_names:
            raise UserError(f"the model has no input '{name}'")
        if value is None:
            raise UserError(f"input '{name}' is bound to None")
        self._inputs[name] = value

    def _bind_output(self, name: str, value: object) -> None:
        if name not in self._output_names:
            raise UserError(f"the model has no output '{name}'")
        self._outputs[name] = value

    def _run(self, cancellation: Cancellation | None, profile: Profile | None) -> None:
        if not self._outputs:
            raise UserError("no output is bound; bind_output() asks for one")
        memory = {name: value for name, value in self._outputs.items() if value is not None}
        made = self._graph._run_list(list(self._outputs), self._inputs, memory, True, cancellation, profile)
        self._results = [OrtValue(value) for value in made]

    def __repr__(self) -> str:
        return f"<dyn.IOBinding of inputs {list(self._inputs)}, outputs {list(self._outputs)}>"
