"""The files of a model, of which some are in memory."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping

from .errors import UserError


def checked_files(names: object, buffers: object, lengths: object) -> dict[str, memoryview]:
    """The first `length` bytes of each buffer, by its file's name."""
    columns = [list(column) if isinstance(column, list | tuple) else None for column in (names, buffers, lengths)]
    known = [column for column in columns if column is not None]
    if len(known) != 3 or len({len(column) for column in known}) != 1:
        raise UserError("external initializers are three lists of one length: names of files, their bytes, and numbers of bytes")
    files: dict[str, memoryview] = {}
    for name, buffer, length in zip(*known, strict=True):
        if not isinstance(name, str):
            raise UserError(f"the name of a file with external initializers is a str, not {name!r}")
        try:
            view = memoryview(buffer).cast("B")
        except TypeError as error:
            raise UserError(f"the external initializers of '{name}' are no dense bytes: {error}") from error
        if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length <= len(view):
            raise UserError(f"the external initializers of '{name}' are {len(view)} bytes, and {length!r} of them are wanted")
        files[os.path.normpath(name)] = view[:length]
    return files


class ModelFiles:
    """For Graph.from_reader: the files of the model at `path`, those in `files` by their names below its folder, others mapped."""

    def __init__(self, path: str, files: Mapping[str, memoryview]) -> None:
        self._folder = os.path.dirname(path)
        self._files: dict[str, mmap.mmap | memoryview | bytes] = {os.path.join(self._folder, name): view for name, view in files.items()}

    def in_place(self, name: str) -> mmap.mmap | memoryview | bytes:
        if name not in self._files:
            with open(name, "rb") as file:
                empty = os.fstat(file.fileno()).st_size == 0
                self._files[name] = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._files[name]

    def size(self, name: str) -> int:
        return len(self.in_place(name))

    def read(self, name: str, offset: int, count: int) -> bytes:
        return bytes(self.in_place(name)[offset : offset + count])
