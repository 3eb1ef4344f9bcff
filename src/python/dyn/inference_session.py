"""InferenceSession: what programs written for ONNX Runtime use, over dyn.Graph."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ._dyn import Graph, Operator, Port, Profile, option_types
from .errors import Error, UnsupportedError, UserError
from .io_binding import IOBinding
from .model_files import ModelFiles
from .model_metadata import ModelMetadata
from .onnx_types import tensor_type
from .ort_value import OrtValue
from .profiling import Profiling
from .run_future import RunFuture
from .session_options import RunOptions, SessionOptions, cancellation_of

_DEVICES = {"CUDAExecutionProvider": "cuda", "CPUExecutionProvider": "cpu"}
_cuda_is_there: bool | None = None


def get_all_providers() -> list[str]:
    """The execution providers that dyn understands."""
    return list(_DEVICES)


def get_available_providers() -> list[str]:
    """Those that this machine has."""
    global _cuda_is_there
    if _cuda_is_there is None:
        try:
            Graph.from_text("dyn 1\ndim N\ngraph probe(x: f32[N]) -> (y: f32[N]) {\n  y = x + 1.0\n  return y\n}\n", device="cuda").close()
            _cuda_is_there = True
        except Error:
            _cuda_is_there = False
    return [name for name in _DEVICES if name != "CUDAExecutionProvider" or _cuda_is_there]


def get_device() -> str:
    """'GPU' or 'CPU'."""
    return "GPU" if "CUDAExecutionProvider" in get_available_providers() else "CPU"


class NodeArg:
    """An input or output: its name, its type as 'tensor(float)', and its shape of sizes and symbols; None: a dim that the file does not name."""

    def __init__(self, port: Port) -> None:
        self.name = port.name
        self.type = "tensor(string)" if port.texts is not None else tensor_type(port.dtype)
        self.shape: list[int | str | None] = [None if _is_nameless(size) else size for size in port.shape or ()]

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


def _is_nameless(size: int | str) -> bool:
    """Imports call dims without a name _0, _1, ..., and "_" what they do not know."""
    return isinstance(size, str) and size.startswith("_") and (size == "_" or size[1:].isdigit())


class InferenceSession:
    """A model that any number of threads may run at once.

    providers: names, or pairs of a name and options, the first of which that this machine has is taken: 'CPUExecutionProvider',
    'CUDAExecutionProvider'. A provider's options are dyn's own, by name ({"precision": "bf16"}), and `device_id` of a GPU. operators: the program's
    own, for nodes of their domains.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, Mapping[str, object]]] | None = None,
        provider_options: Sequence[Mapping[str, object]] | None = None,
        *,
        operators: Sequence[Operator] = (),
    ) -> None:
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise UserError(f"sess_options are a dyn.SessionOptions, not {sess_options!r}")
        self._session_options = sess_options if sess_options is not None else SessionOptions()
        self._provider, self._provider_options = _chosen_provider(providers, provider_options)
        options = self._session_options._dyn_options() | _dyn_options(self._provider, self._provider_options)
        if operators:
            options["operators"] = operators
        self._graph = _load(path_or_bytes, self._session_options._external_files(), options)
        self._ports = self._graph.inputs, self._graph.outputs
        self._profiling = Profiling(self._session_options.profile_file_prefix) if self._session_options.enable_profiling else None

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, object], run_options: RunOptions | None = None) -> list[Any]:
        """The outputs, or those of output_names, as new arrays."""
        if run_options is None and self._profiling is None:
            return self._graph._run_list(output_names, input_feed)
        return self._graph._run_list(output_names, input_feed, None, False, cancellation_of(run_options), self._profile())

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        callback: Callable[[list[Any], Any, str], object],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Runs beside the caller. callback(outputs, user_data, "") or callback([], user_data, error) is called in the thread of the run."""
        known = [port.name for port in self._ports[1]]
        names = list(output_names or known)
        for name in names:
            if name not in known:
                raise UserError(f"the model has no output '{name}'")
        if not callable(callback):
            raise UserError(f"the callback of run_async is a function of outputs, user_data and an error, not {callback!r}")

        def done(future: RunFuture) -> None:
            error = future.exception()
            outputs = [] if error is not None else [future.result()[name] for name in names]
            callback(outputs, user_data, "" if error is None else str(error) or type(error).__name__)

        self._graph.run_async(input_feed, done, cancellation=cancellation_of(run_options))

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: RunOptions | None = None
    ) -> list[OrtValue]:
        tensors = self._graph._run_list(output_names, input_dict_ort_values, None, True, cancellation_of(run_options), self._profile())
        return [OrtValue(tensor) for tensor in tensors]

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs with what is bound; iobinding.get_outputs() has the outputs."""
        cancellation = cancellation_of(run_options)
        if not isinstance(iobinding, IOBinding) or iobinding._graph is not self._graph:
            raise UserError("run_with_iobinding takes an IOBinding of this InferenceSession")
        iobinding._run(cancellation, self._profile())

    def io_binding(self) -> IOBinding:
        return IOBinding(self._graph)

    def get_inputs(self) -> list[NodeArg]:
        return [NodeArg(port) for port in self._ports[0]]

    def get_outputs(self) -> list[NodeArg]:
        return [NodeArg(port) for port in self._ports[1]]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """None: initializers are constants."""
        return []

    def get_modelmeta(self) -> ModelMetadata:
        """The model's description of itself."""
        return ModelMetadata._of(self._graph.metadata)

    def get_providers(self) -> list[str]:
        """The provider that was chosen, and the CPU, on which runs what it does not have."""
        return list(dict.fromkeys((self._provider, "CPUExecutionProvider")))

    def get_provider_options(self) -> dict[str, dict[str, object]]:
        return {name: dict(self._provider_options) if name == self._provider else {} for name in self.get_providers()}

    def get_session_options(self) -> SessionOptions:
        return self._session_options

    def end_profiling(self) -> str:
        """Writes a file with what runs have done since the session began, and gives its name: for https://ui.perfetto.dev and chrome://tracing. "": nothing
        is recorded, as enable_profiling of the options was False, or this was called before."""
        profiling, self._profiling = self._profiling, None
        return "" if profiling is None else profiling.written()

    def get_profiling_start_time_ns(self) -> int:
        """By time.monotonic_ns(); 0: nothing is recorded."""
        return 0 if self._profiling is None else self._profiling.start_ns

    def _profile(self) -> Profile | None:
        profiling = self._profiling
        return None if profiling is None else profiling.of_a_run()

    def __repr__(self) -> str:
        return f"<dyn.InferenceSession on {self._provider} of {self._graph!r}>"


def _load(path_or_bytes: str | os.PathLike[str] | bytes, files: dict[str, memoryview], options: dict[str, object]) -> Graph:
    """A file with another name than *.onnx and *.dyn has one of these formats all the same."""
    if not isinstance(path_or_bytes, str | os.PathLike):
        return Graph.from_memory(path_or_bytes, files, **options)
    path = os.fsdecode(path_or_bytes)
    if not os.path.isfile(path) or (path.endswith((".onnx", ".dyn")) and not files):
        return Graph.load(path, **options)
    return Graph.from_reader(path, ModelFiles(path, files), **options)


def _chosen_provider(
    providers: Sequence[str | tuple[str, Mapping[str, object]]] | None, provider_options: Sequence[Mapping[str, object]] | None
) -> tuple[str, dict[str, object]]:
    if isinstance(providers, str):
        raise UserError(f"providers are a list of names, not {providers!r}")
    names: list[tuple[str, dict[str, object]]] = []
    for provider in providers or ["CPUExecutionProvider"]:
        name, options = provider if isinstance(provider, tuple) else (provider, {})
        if name not in _DEVICES:
            raise UnsupportedError(f"there is no provider {name!r}; there are {', '.join(_DEVICES)}")
        names.append((name, dict(options)))
    if provider_options is not None:
        if len(provider_options) != len(names):
            raise UserError(f"there are {len(provider_options)} provider_options for {len(names)} providers")
        names = [(name, own | dict(more)) for (name, own), more in zip(names, provider_options, strict=True)]
    return _first_available(names)


def _first_available(names: Iterable[tuple[str, dict[str, object]]]) -> tuple[str, dict[str, object]]:
    """The first; a GPU that is not there makes way for what stands behind it."""
    left = list(names)
    while len(left) > 1 and left[0][0] not in get_available_providers():
        warnings.warn(f"{left[0][0]} is not there; trying {left[1][0]}", stacklevel=4)
        left.pop(0)
    return left[0]


def _dyn_options(provider: str, given: Mapping[str, object]) -> dict[str, object]:
    """ONNX Runtime's values of options may be texts."""
    types = option_types()
    options: dict[str, object] = {"device": _DEVICES[provider]}
    for key, value in given.items():
        if key == "device_id" and provider == "CUDAExecutionProvider":
            options["gpu"] = str(value)
        elif key in types and key != "device":
            options[key] = _converted(key, types[key], value)
        else:
            raise UnsupportedError(f"the option {key!r} of {provider} is nothing that dyn understands; there are {', '.join(types)}")
    return options


def _converted(key: str, wanted: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    if wanted == "int" and value.lstrip("-").isdigit():
        return int(value)
    if wanted == "bool" and value.lower() in ("0", "1", "false", "true"):
        return value.lower() in ("1", "true")
    return value
