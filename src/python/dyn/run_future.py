"""RunFuture: a run that goes on beside its caller."""

from __future__ import annotations

import atexit
import concurrent.futures
from collections.abc import Generator
from typing import Any

from ._dyn import Cancellation, _wait_for_runs

#: The end of a process waits for such runs, and Python must be there for them until then.
atexit.register(_wait_for_runs)


class RunFuture(concurrent.futures.Future[dict[str, Any]]):
    """A future of the outputs by name. Made by Graph.run_async(); `await` takes it too."""

    def __init__(self, cancellation: Cancellation) -> None:
        super().__init__()
        self._cancellation = cancellation
        self.set_running_or_notify_cancel()

    def cancel(self) -> bool:
        """Ends the run early, by its Cancellation: the result is a CancelledError of dyn, unless the run is over first. False: it is over."""
        self._cancellation.cancel()
        return not self.done()

    def __await__(self) -> Generator[Any, None, dict[str, Any]]:
        import asyncio

        return asyncio.wrap_future(self).__await__()
