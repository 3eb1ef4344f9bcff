"""What an InferenceSession records of its runs."""

from __future__ import annotations

import itertools
import logging
import time

from ._dyn import Profile, chrome_trace

_logger = logging.getLogger("dyn")
#: A session that nobody ends must not fill the memory.
_MOST_RUNS = 1000


class Profiling:
    def __init__(self, prefix: str) -> None:
        self.start_ns = time.monotonic_ns()
        self._prefix = prefix
        self._runs: list[Profile] = []
        self._numbers = itertools.count()

    def of_a_run(self) -> Profile | None:
        """For a run that begins now."""
        number = next(self._numbers)
        if number == _MOST_RUNS:
            _logger.warning("profiling: the trace has %d runs; further ones are left out until end_profiling()", _MOST_RUNS)
        if number >= _MOST_RUNS:
            return None
        profile = Profile(f"run {number}")
        self._runs.append(profile)
        return profile

    def written(self) -> str:
        """Writes the trace, and gives the file's name, which has the time in it as ONNX Runtime's do."""
        name = f"{self._prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
        with open(name, "w", encoding="utf-8") as file:
            file.write(chrome_trace([run for run in self._runs if run.end_ns > 0]))
        return name
