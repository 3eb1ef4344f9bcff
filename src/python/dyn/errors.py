"""Exceptions: one class for each of dyn's kinds of errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class Error(RuntimeError):
    """Every function of dyn that fails throws one. str() is the message, then a line for each place of `where`, innermost first."""

    kind: ClassVar[str] = "internal"

    def __init__(self, message: str, where: Sequence[str] = ()) -> None:
        super().__init__("\n  in ".join([message, *where]))
        self.message = message
        self.where = tuple(where)

    def __reduce__(self) -> tuple[type[Error], tuple[str, tuple[str, ...]]]:
        return type(self), (self.message, self.where)


class UserError(Error, ValueError):
    """A wrong argument or input."""

    kind = "user"


class ModelError(Error, ValueError):
    """A broken or inconsistent model or weight file."""

    kind = "model"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not something that this build or machine can do."""

    kind = "unsupported"


class DeviceError(Error):
    """The machine failed: memory, files, driver."""

    kind = "device"


class InternalError(Error):
    """A defect of dyn."""

    kind = "internal"


class CancelledError(Error):
    """Nobody's: the host wanted the end."""

    kind = "cancelled"


_classes: dict[str, type[Error]] = {own.kind: own for own in (UserError, ModelError, UnsupportedError, DeviceError, InternalError, CancelledError)}


def class_of_kind(kind: str) -> type[Error]:
    return _classes.get(kind, Error)
