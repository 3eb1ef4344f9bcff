"""dyn runs neural networks whose shapes change from call to call.

Graph, Call and Session are the C++ classes of these names. InferenceSession and what belongs to it are what programs written for ONNX Runtime
use: `import dyn as onnxruntime`.
"""

from . import functions
from ._dyn import (
    Builder,
    Call,
    Cancellation,
    Dim,
    DimExpr,
    Graph,
    Kernel,
    KernelChoice,
    LoadReport,
    MemoryNeeded,
    Metadata,
    Operator,
    Port,
    Profile,
    ProfileBuffer,
    ProfileEvent,
    ProfileGroup,
    ProfileSlice,
    Session,
    State,
    Tensor,
    TensorType,
    Value,
    chrome_trace,
    require_equal,
)
from ._dyn import version as __version__
from .errors import CancelledError, DeviceError, Error, InternalError, ModelError, UnsupportedError, UserError
from .inference_session import InferenceSession, NodeArg, get_all_providers, get_available_providers, get_device
from .io_binding import IOBinding
from .model_metadata import ModelMetadata
from .ort_value import OrtValue
from .run_future import RunFuture
from .session_options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions, UnknownOptionError, set_default_logger_severity

__all__ = [
    "Builder",
    "Call",
    "Cancellation",
    "CancelledError",
    "DeviceError",
    "Dim",
    "DimExpr",
    "Error",
    "ExecutionMode",
    "Graph",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "InternalError",
    "Kernel",
    "KernelChoice",
    "LoadReport",
    "MemoryNeeded",
    "Metadata",
    "ModelError",
    "ModelMetadata",
    "NodeArg",
    "Operator",
    "OrtValue",
    "Port",
    "Profile",
    "ProfileBuffer",
    "ProfileEvent",
    "ProfileGroup",
    "ProfileSlice",
    "RunFuture",
    "RunOptions",
    "Session",
    "SessionOptions",
    "State",
    "Tensor",
    "TensorType",
    "UnknownOptionError",
    "UnsupportedError",
    "UserError",
    "Value",
    "__version__",
    "chrome_trace",
    "functions",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "require_equal",
    "set_default_logger_severity",
]
