"""Options of ONNX Runtime, as far as dyn understands them. Others are refused by their names."""

from __future__ import annotations

import enum
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

from ._dyn import Cancellation
from .errors import UnsupportedError, UserError
from .model_files import checked_files

_logger = logging.getLogger("dyn")
#: ONNX Runtime's severities, 0 to 4.
_SEVERITIES = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}
_default_severity = 2


class UnknownOptionError(UnsupportedError, AttributeError):
    """An option of ONNX Runtime that dyn does not have."""


class GraphOptimizationLevel(enum.IntEnum):
    """Without effect: dyn has one set of passes."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Without effect: threads share the work of each operator."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


def set_default_logger_severity(severity: int) -> None:
    """0 (all) to 4 (nothing), for sessions whose options leave it open."""
    global _default_severity
    _default_severity = _checked_severity(severity)


def _checked_severity(severity: object) -> int:
    if not isinstance(severity, int) or not 0 <= severity < len(_SEVERITIES):
        raise UserError(f"a severity is an int of 0 to {len(_SEVERITIES) - 1}, not {severity!r}")
    return severity


class _Fields:
    """Attributes with a type and a default each; others are refused."""

    _types: dict[str, tuple[type, object]] = {}

    def __init__(self) -> None:
        for name, (_, default) in self._types.items():
            object.__setattr__(self, name, default)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._types:
            raise UnknownOptionError(f"{type(self).__name__}.{name} is no option that dyn understands; there are {', '.join(self._types)}")
        wanted, default = self._types[name]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise UserError(f"{type(self).__name__}.{name} takes {wanted.__name__}, not {value!r}")
        if name in self._refused() and value != default:
            raise UnsupportedError(f"{type(self).__name__}.{name} = {value!r}: dyn does not have that; leave it {default!r}")
        object.__setattr__(self, name, value)

    def _refused(self) -> frozenset[str]:
        return frozenset()

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={getattr(self, name)!r}" for name, (_, default) in self._types.items() if getattr(self, name) != default)
        return f"<dyn.{type(self).__name__} {changed or 'as it is by default'}>"


class SessionOptions(_Fields):
    """intra_op_num_threads (0: all that the process may use), use_deterministic_compute, log_severity_level (lines go to logging's logger "dyn"),
    enable_profiling and profile_file_prefix (InferenceSession.end_profiling) have an effect. Options of ONNX Runtime's own ways are accepted and have none."""

    _types = {
        "intra_op_num_threads": (int, 0),
        "use_deterministic_compute": (bool, False),
        "log_severity_level": (int, -1),
        "enable_profiling": (bool, False),
        "profile_file_prefix": (str, "onnxruntime_profile_"),
        # Without effect.
        "inter_op_num_threads": (int, 0),
        "execution_mode": (int, ExecutionMode.ORT_SEQUENTIAL),
        "execution_order": (int, 0),
        "graph_optimization_level": (int, GraphOptimizationLevel.ORT_ENABLE_ALL),
        "enable_cpu_mem_arena": (bool, True),
        "enable_mem_pattern": (bool, True),
        "enable_mem_reuse": (bool, True),
        "use_per_session_threads": (bool, True),
        "log_verbosity_level": (int, 0),
        "logid": (str, ""),
        # Refused but for its default.
        "optimized_model_filepath": (str, ""),
    }
    intra_op_num_threads: int
    use_deterministic_compute: bool
    log_severity_level: int
    enable_profiling: bool
    profile_file_prefix: str
    inter_op_num_threads: int
    execution_mode: int
    execution_order: int
    graph_optimization_level: int
    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    use_per_session_threads: bool
    log_verbosity_level: int
    logid: str
    optimized_model_filepath: str

    #: Entries that change nothing in dyn, whatever their values.
    _inert_entries = frozenset(
        {
            "session.intra_op.allow_spinning",
            "session.inter_op.allow_spinning",
            "session.dynamic_block_base",
            "session.disable_prepacking",
            "session.use_env_allocators",
            "session.use_device_allocator_for_initializers",
        }
    )

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "_entries", {})
        object.__setattr__(self, "_files", {})
        object.__setattr__(self, "_plugins", [])

    def _refused(self) -> frozenset[str]:
        return frozenset({"optimized_model_filepath"})

    def __getattr__(self, name: str) -> object:
        raise UnknownOptionError(f"SessionOptions.{name} is nothing that dyn understands")

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Refuses entries but those that decide nothing but ONNX Runtime's own ways."""
        if key not in self._inert_entries:
            raise UnsupportedError(f"the session's entry '{key}' is nothing that dyn understands; there are {', '.join(sorted(self._inert_entries))}")
        entries: dict[str, str] = object.__getattribute__(self, "_entries")
        entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        entries: dict[str, str] = object.__getattribute__(self, "_entries")
        if key not in entries:
            raise UserError(f"there is no entry '{key}' in these SessionOptions")
        return entries[key]

    def add_external_initializers_from_files_in_memory(self, names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int]) -> None:
        """The contents of a model's files of external data, by the names that the model has for them. Needed until the session is made."""
        self._external_files().update(checked_files(names, buffers, lengths))

    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None:
        """Operators of a plug-in of dyn's (dyn/plugin.h), a shared object. One that was made for ONNX Runtime's own interface is refused by the load."""
        plugins: list[str] = object.__getattribute__(self, "_plugins")
        plugins.append(os.fsdecode(path))

    def _external_files(self) -> dict[str, memoryview]:
        files: dict[str, memoryview] = object.__getattribute__(self, "_files")
        return files

    def _dyn_options(self) -> dict[str, object]:
        options: dict[str, object] = {}
        if self.intra_op_num_threads != 0:
            options["threads"] = self.intra_op_num_threads
        if self.use_deterministic_compute:
            options["deterministic"] = True
        plugins: list[str] = object.__getattribute__(self, "_plugins")
        if plugins:
            options["plugins"] = list(plugins)
        severity = _default_severity if self.log_severity_level == -1 else _checked_severity(self.log_severity_level)
        log = _log_function(_SEVERITIES[severity])
        if log is not None:
            options["log"] = log
        return options


def _log_function(least: int) -> Callable[[str, str], None] | None:
    if least > max(_LEVELS.values()):
        return None

    def log(level: str, line: str) -> None:
        if _LEVELS[level] >= least:
            _logger.log(_LEVELS[level], line)

    return log


class RunOptions(_Fields):
    """`terminate` = True ends the runs that these options were given to, and those that begin with them. The others have no effect."""

    _types = {
        "log_severity_level": (int, -1),
        "log_verbosity_level": (int, 0),
        "logid": (str, ""),
        "only_execute_path_to_fetches": (bool, False),
        "terminate": (bool, False),
    }
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    only_execute_path_to_fetches: bool
    terminate: bool

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "_cancellation", Cancellation())

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "terminate" and value:
            self._own_cancellation().cancel()
        elif name == "terminate" and self._own_cancellation().cancelled:
            object.__setattr__(self, "_cancellation", Cancellation())

    def _own_cancellation(self) -> Cancellation:
        own: Cancellation = object.__getattribute__(self, "_cancellation")
        return own

    def __getattr__(self, name: str) -> object:
        raise UnknownOptionError(f"RunOptions.{name} is nothing that dyn understands")


def cancellation_of(options: object) -> Cancellation | None:
    if options is None:
        return None
    if not isinstance(options, RunOptions):
        raise UserError(f"run_options are a dyn.RunOptions, not {options!r}")
    return options._own_cancellation()
