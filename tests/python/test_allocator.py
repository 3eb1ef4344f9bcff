"""Memory that a Python object gives."""

import concurrent.futures
import gc
import multiprocessing.shared_memory
import subprocess
import sys
import threading
import weakref

import dyn
import numpy
import pytest
from models import COUNT

LAYERS = """dyn 1
dim N in 1..4096
weight w: f32[96, 200] = random 3
weight v: f32[200, 33] = random 4
graph layers(x: f32[N, 96]) -> (y: f32[N, 33], h: f32[N, 200]) {
  h = tanh(matmul(x, w))
  y = softmax(matmul(h, v))
  return y, h
}
"""


class Memory(numpy.ndarray):
    """An array that a weak reference can see."""


def aligned(count, alignment, offset=0):
    """Bytes of strange contents."""
    wide = numpy.full(count + alignment + offset, 0xAB, numpy.uint8).view(Memory)
    start = -wide.ctypes.data % alignment + offset
    return wide[start : start + count]


class Book:
    """Memory, and a book of it."""

    def __init__(self):
        self.live, self.asked, self.given_back = {}, [], 0
        self.lock = threading.Lock()

    def allocate(self, count, alignment):
        memory = aligned(count, alignment)
        with self.lock:
            self.asked.append((count, alignment))
            self.live[id(memory)] = memory
        return memory

    def deallocate(self, memory):
        with self.lock:
            assert self.live.pop(id(memory)) is memory
            self.given_back += 1

    def has(self, array):
        begin = array.ctypes.data
        with self.lock:
            return any(own.ctypes.data <= begin and begin + array.nbytes <= own.ctypes.data + own.nbytes for own in self.live.values())


def wait_for_python():
    """Calls of Python that wait for its main thread come at some jump back."""
    gc.collect()
    for _ in range(1000):
        pass


def load(allocator, text=LAYERS, **options):
    return dyn.Graph.from_text(text, allocator=allocator, weight_cache_bytes=0, random_weights=True, **({"threads": 2} | options))


def rows(rng, count):
    return rng.normal(0.2, 1, (count, 96)).astype(numpy.float32)


def test_weights_arenas_and_outputs_come_from_it(rng):
    book = Book()
    graph = load(book)
    weights = sum(own.nbytes for own in book.live.values())
    assert weights >= 4 * (96 * 200 + 200 * 33) and all(alignment == 64 for _, alignment in book.asked)
    plain = dyn.Graph.from_text(LAYERS, threads=2, random_weights=True)
    kept = []
    for count in (7, 1, 300):
        x = rows(rng, count)
        outputs, expected = graph.run({"x": x}), plain.run({"x": x})
        for name, output in outputs.items():
            assert book.has(output) and output.tobytes() == expected[name].tobytes()
        kept.append((outputs, expected))
    mine = numpy.empty((300, 33), numpy.float32)
    asked = len(book.asked)
    graph.run({"x": x}, out={"y": mine, "h": numpy.empty((300, 200), numpy.float32)})
    assert len(book.asked) == asked and mine.tobytes() == expected["y"].tobytes()
    y = graph.run({"x": x})["y"]
    wait_for_python()
    before = book.given_back
    del y
    wait_for_python()
    assert book.given_back == before + 1
    graph.close()
    del graph
    wait_for_python()
    for outputs, expected in kept:
        for name, output in outputs.items():
            assert book.has(output) and output.tobytes() == expected[name].tobytes()
    del outputs, output, expected
    kept.clear()
    wait_for_python()
    assert book.live == {} and book.given_back == len(book.asked)


def test_memory_is_let_go_without_deallocate(rng):
    seen = []

    class Plain:
        def allocate(self, count, alignment):
            memory = aligned(count, alignment)
            seen.append(weakref.ref(memory))
            return memory

    graph = load(Plain())
    y = graph.run({"x": rows(rng, 5)})["y"]
    assert any(own() is not None for own in seen)
    graph.close()
    del graph
    wait_for_python()
    assert sum(own() is not None for own in seen) == 1
    del y
    wait_for_python()
    assert all(own() is None for own in seen)


def test_outputs_in_shared_memory(rng):
    """Of another process, for which the output's bytes are there at once."""

    class Shared:
        def __init__(self):
            self.own = []

        def allocate(self, count, alignment):
            shared = multiprocessing.shared_memory.SharedMemory(create=True, size=count)
            self.own.append(shared)
            return shared.buf

    shared = Shared()
    graph = load(shared)
    y = graph.run({"x": rows(rng, 9)})["y"]
    names = [own.name for own in shared.own]
    code = "import sys, multiprocessing.shared_memory as m\nfor name in sys.argv[1:]:\n  own = m.SharedMemory(name); print(bytes(own.buf).hex()); own.close()"
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *names], capture_output=True, text=True, check=True)
    assert y.tobytes().hex() in ended.stdout
    del y, graph
    wait_for_python()
    for own in shared.own:
        own.close()
        try:
            own.unlink()
        except FileNotFoundError:  # the other process's Python did it
            multiprocessing.resource_tracker.unregister(own._name, "shared_memory")


class Trouble(Exception):
    pass


def trouble(count, alignment):
    raise Trouble("none left")


def interrupt(count, alignment):
    raise KeyboardInterrupt


def read_only(count, alignment):
    memory = aligned(count, alignment)
    memory.flags.writeable = False
    return memory


@pytest.mark.parametrize(
    ("answer", "raised", "words"),
    [
        (trouble, dyn.DeviceError, r"has no memory for \d+ bytes of .*: Trouble: none left"),
        (interrupt, KeyboardInterrupt, None),
        (lambda count, alignment: None, dyn.DeviceError, "has no memory for .*: the memory of allocate.. is None"),
        (lambda count, alignment: 4096, dyn.DeviceError, "the memory of allocate.. .*int"),
        (lambda count, alignment: [0] * count, dyn.DeviceError, "the memory of allocate.. .*list"),
        (read_only, dyn.DeviceError, "the memory of allocate.. is read-only"),
        (lambda count, alignment: aligned(count - 1, alignment), dyn.DeviceError, r"allocate.. gave \d+ bytes of \d+"),
        (lambda count, alignment: aligned(2 * count, alignment)[::2], dyn.DeviceError, "the memory of allocate.."),
        (lambda count, alignment: aligned(count, alignment, offset=8), dyn.UserError, "no multiple of the alignment that it was asked for, 64"),
        (lambda count: None, dyn.DeviceError, "TypeError: .* takes 1 positional argument"),
    ],
)
def test_allocators_that_answer_nonsense(rng, answer, raised, words):
    class Failing(Book):
        fails = False

        def allocate(self, count, alignment):
            return answer(count, alignment) if self.fails else super().allocate(count, alignment)

    book = Failing()
    book.deallocate = lambda memory: None
    graph, x = load(book), rows(rng, 17)
    expected = graph.run({"x": x})["y"].tobytes()
    book.fails = True
    for use in (lambda: graph.run({"x": x}), lambda: load(book), lambda: graph.run_async({"x": x}).result()):
        with pytest.raises(raised, match=words) as caught:
            use()
        if answer is trouble:
            assert isinstance(caught.value.__cause__, Trouble)
    book.fails = False
    assert graph.run({"x": x})["y"].tobytes() == expected


@pytest.mark.parametrize("shift", [0, 64, -64])
def test_memory_that_is_in_use(rng, shift):
    class Twice:
        last = None

        def __init__(self):
            self.wide = aligned(1 << 22, 64)

        def allocate(self, count, alignment):
            if self.last is None:
                self.last = 1 << 20
            start = self.last + shift
            self.last = start
            return self.wide[start : start + count]

    with pytest.raises(dyn.DeviceError, match="allocate.. gave memory that is in use"):
        load(Twice()).run({"x": rows(rng, 40)})


def test_what_is_no_allocator():
    for wrong in (3, None, print, numpy.zeros(3)):
        with pytest.raises(dyn.UserError, match=r"an allocator has allocate\(bytes, alignment\), but"):
            load(wrong)


def test_in_threads_beside_trims_and_graphs_that_go(rng):
    """A graph that goes in one thread holds the GIL, while others give memory back."""
    book = Book()
    x = {count: rows(rng, count) for count in (3, 90, 400)}
    expected = {count: dyn.Graph.from_text(LAYERS, threads=1, random_weights=True).run({"x": own})["y"] for count, own in x.items()}

    def work(number):
        graph = load(book, threads=1 + number % 2, memory_budget=1 << 24)
        for turn in range(30):
            count = (3, 90, 400)[(turn + number) % 3]
            numpy.testing.assert_array_equal(graph.run({"x": x[count]})["y"], expected[count])
            if turn % 3 == number % 3:
                graph.trim()
            if turn % 10 == 9:
                graph = load(book, threads=1, memory_budget=1 << 24)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    wait_for_python()
    assert book.live == {}


def test_outputs_whose_sizes_the_run_decides():
    book = Book()
    graph = load(book, COUNT)
    last = graph.run({"x": numpy.array([3, -1, 40]), "go": numpy.array(True), "most": numpy.array(5)})["last"]
    assert book.has(last) and len(last) == 3


def test_an_exception_of_deallocate_is_unraisable(rng, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: seen.append(raised.exc_value))
    book = Book()
    book.deallocate = lambda memory: trouble(0, 0)
    graph = load(book)
    graph.close()
    wait_for_python()
    assert seen and all(isinstance(own, Trouble) for own in seen)


def test_the_end_of_the_process():
    code = (
        "import numpy, sys, dyn\nsys.path.insert(0, sys.argv[1])\n"
        "from test_allocator import Book, load\n"
        "book = Book()\ngraph = load(book)\nx = numpy.ones((50, 96), numpy.float32)\n"
        "kept = graph.run({'x': x})\nfuture = graph.run_async({'x': x})\nprint('done')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(__file__).rsplit("/", 1)[0]], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
