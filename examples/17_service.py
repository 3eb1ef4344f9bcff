"""A service in Python: the model comes out of an archive, requests share threads and have deadlines.

Needs the package: pip install . at the project's root (docs/python.md).
"""

import asyncio
import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor

import dyn
import numpy as np

MODEL = """
dyn 1
dim N in 1..4096
weights "w.safetensors"
graph classify(x: f32[N, 24]) -> (p: f32[N, 10]) {
  p = softmax(matmul(x, w: f32[24, 10])) axis=1
  return p
}
"""


def archive(w: np.ndarray) -> zipfile.ZipFile:
    """As it would be on disk: a model and its weights in one compressed file."""
    header = json.dumps({"w": {"dtype": "F32", "shape": list(w.shape), "data_offsets": [0, w.nbytes]}}).encode()
    packed = zipfile.ZipFile(io.BytesIO(), "w", zipfile.ZIP_DEFLATED)
    packed.writestr("m/classify.dyn", MODEL)
    packed.writestr("m/w.safetensors", len(header).to_bytes(8, "little") + header + w.tobytes())
    return packed


class ArchiveReader:
    """Gives dyn the files of an archive, unpacked as they are asked for."""

    def __init__(self, packed: zipfile.ZipFile) -> None:
        self.packed = packed

    def size(self, name: str) -> int:
        return self.packed.getinfo(name).file_size

    def read(self, name: str, offset: int, count: int) -> bytes:
        with self.packed.open(name) as file:
            file.seek(offset)
            return file.read(count)


async def serve(graph: dyn.Graph, rows: int) -> str:
    """One request, which is given up after a second. Runs go on in the pool, not in the loop of events."""
    x = np.random.default_rng(rows).normal(size=(rows, 24)).astype(np.float32)
    try:
        outputs = await graph.run_async({"x": x}, timeout=1)
    except dyn.CancelledError:
        return f"{rows} rows: too late"
    return f"{rows} rows: class {outputs['p'][0].argmax()} first"


async def main() -> None:
    w = np.random.default_rng(7).normal(size=(24, 10)).astype(np.float32)
    with ThreadPoolExecutor(2) as pool:
        graph = dyn.Graph.from_reader("m/classify.dyn", ArchiveReader(archive(w)), executor=pool, memory_budget=64 << 20)
        print(graph)
        print(graph.memory_needed({"x": (4096, 24)}))
        for answer in await asyncio.gather(*(serve(graph, rows) for rows in (1, 3, 50, 2000))):
            print(answer)

    # An exception of a reader is the cause of the error.
    try:
        dyn.Graph.from_reader("m/other.dyn", ArchiveReader(archive(w)))
    except dyn.DeviceError as error:
        print(error)
        assert isinstance(error.__cause__, KeyError)
    else:
        raise AssertionError("there is no such file in the archive")


if __name__ == "__main__":
    asyncio.run(main())
