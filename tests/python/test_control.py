"""Runs that the host ends early or lets go on beside it, its threads, the memory, and the progress of a load."""

import asyncio
import concurrent.futures
import os
import threading
import time

import dyn
import numpy
import pytest
from models import COUNT, PRODUCT, SCALE, TOTALS, classifier


@pytest.fixture(scope="module")
def count():
    return dyn.Graph.from_text(COUNT, threads=1, max_loop_steps=2**60)


def steps(number):
    return {"x": numpy.zeros(2, numpy.int64), "go": numpy.array(True), "most": numpy.array(number)}


def total(number):
    return [number * (number - 1) // 2] * 2


FOREVER = steps(2**60)


def after(seconds, work):
    timer = threading.Timer(seconds, work)
    timer.start()
    return timer


def bound(graph, inputs):
    call = dyn.Call(graph)
    for name, array in inputs.items():
        call.set_input(name, array)
    return call


def test_runs_end_early(count):
    call = bound(count, FOREVER)
    for run in (lambda **end: count.run(FOREVER, **end), call.run, lambda **end: count.run_async(FOREVER, **end).result()):
        with pytest.raises(dyn.CancelledError, match=r"(?s)the deadline of the run has passed, in .*in step \d+ of loop") as caught:
            run(timeout=0.02)
        assert caught.value.kind == "cancelled" and not isinstance(caught.value, concurrent.futures.CancelledError)
        cancellation = dyn.Cancellation()
        assert not cancellation.cancelled and repr(cancellation) == "<dyn.Cancellation>"
        timer = after(0.02, cancellation.cancel)
        with pytest.raises(dyn.CancelledError, match="the run was cancelled"):
            run(timeout=3600, cancellation=cancellation)
        timer.join()
        assert cancellation.cancelled and repr(cancellation) == "<dyn.Cancellation, cancelled>"
        with pytest.raises(dyn.CancelledError):
            run(cancellation=cancellation)
    assert count.run(steps(7), timeout=float("inf"), cancellation=dyn.Cancellation())["last"].tolist() == total(7)
    call.set_input("most", numpy.array(9))
    call.run(timeout=1e300)
    assert call.output(0).tolist() == total(9)


def test_one_cancellation_ends_many_runs(count):
    cancellation = dyn.Cancellation()
    futures = [count.run_async(FOREVER, cancellation=cancellation) for _ in range(3)]
    cancellation.cancel()
    for future in futures:
        assert isinstance(future.exception(), dyn.CancelledError)


def test_a_session_keeps_its_length_where_a_run_is_cancelled(rng):
    session = dyn.Session(dyn.Graph.from_text(TOTALS, threads=1), {"B": 2, "C": 12})
    x = rng.normal(size=(2, 3, 3)).astype(numpy.float32)
    for end in ({"timeout": 0}, {"cancellation": cancelled()}):
        with pytest.raises(dyn.CancelledError):
            session.run({"x": x}, **end)
        assert session.length == 0
    numpy.testing.assert_allclose(session.run({"x": x}, timeout=60)["total"], x.sum(1, keepdims=True), rtol=1e-5, atol=1e-5)


def cancelled():
    own = dyn.Cancellation()
    own.cancel()
    return own


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({"timeout": "1"}, "a timeout is a number of seconds, 0 and more, or None, not '1'"),
        ({"timeout": -0.5}, "not -0.5"),
        ({"timeout": float("nan")}, "not nan"),
        ({"timeout": 10**400}, "a timeout is a number of seconds"),
        ({"cancellation": 3}, "ended by a dyn.Cancellation, not by an int"),
        ({"cancellation": dyn.Cancellation}, "not by a "),
        ({"cancellation": dyn.Cancellation.__new__(dyn.Cancellation)}, "not by a dyn"),
    ],
)
def test_ends_that_are_none(count, end, words):
    for run in (count.run, count.run_async):
        with pytest.raises(dyn.UserError, match=words):
            run(steps(3), **end)


def test_runs_beside_the_caller(rng):
    graph = dyn.Graph.from_text(PRODUCT, threads=2)
    pairs = [(rng.normal(size=(3 + n, 20)).astype(numpy.float32), rng.normal(size=(20, 24)).astype(numpy.float32)) for n in range(12)]
    heard = []
    futures = [graph.run_async({"a": a, "b": b.copy()}, heard.append) for a, b in pairs]  # the copy is kept by the run
    for future, (a, b) in zip(futures, pairs, strict=True):
        outputs = future.result(60)
        assert list(outputs) == ["c", "twice"] and future.done() and not future.cancelled() and not future.cancel()
        numpy.testing.assert_allclose(outputs["c"], a @ b, rtol=1e-4, atol=1e-4)
    concurrent.futures.wait(futures)
    assert set(heard) == set(futures)


def test_a_future_is_cancelled(count):
    future = count.run_async(FOREVER)
    assert future.running() and future.cancel() and isinstance(future.exception(60), dyn.CancelledError)
    assert future.cancel() is False
    with pytest.raises(concurrent.futures.TimeoutError):
        second = count.run_async(FOREVER)
        second.result(0.01)
    second.cancel()
    with pytest.raises(dyn.CancelledError):
        second.result(60)


def test_a_process_that_forks_waits_for_none_of_its_parents_runs(count):
    future = count.run_async(FOREVER)
    pid = os.fork()
    if pid == 0:
        dyn.run_future._wait_for_runs()
        os._exit(0)
    ended = (0, 0)
    for _ in range(6000):
        ended = os.waitpid(pid, os.WNOHANG)
        if ended != (0, 0):
            break
        time.sleep(0.01)
    else:
        os.kill(pid, 9)
    assert ended == (pid, 0)
    future.cancel()
    assert isinstance(future.exception(60), dyn.CancelledError)


def test_futures_are_awaited(count):
    async def body():
        first, second = await asyncio.gather(count.run_async(steps(5)), count.run_async(steps(6)))
        assert (first["last"].tolist(), second["last"].tolist()) == (total(5), total(6))
        with pytest.raises(dyn.UserError):
            await count.run_async({"x": [1, 2]})
        future = count.run_async(FOREVER)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(future, 0.02)
        assert isinstance(future.exception(60), dyn.CancelledError)

    asyncio.run(body())


def test_what_a_run_beside_the_caller_raises(count):
    with pytest.raises(dyn.UserError, match="the model has no input 'q'"):
        count.run_async({"q": 1})
    with pytest.raises(dyn.UserError, match="the callback of a run is a function of its future, not an int"):
        count.run_async(steps(1), 3)
    with pytest.raises(dyn.UserError, match="is missing"):
        count.run_async({}).result(60)
    graph = dyn.Graph.from_text(COUNT, threads=1)
    future = graph.run_async(steps(200000))
    graph.close()
    assert future.result(60)["last"].tolist() == total(200000)
    with pytest.raises(dyn.UserError, match="was closed"):
        graph.run_async(steps(1))


class Odd:
    """An executor that does with tasks what `take` does."""

    def __init__(self, take, concurrency=3):
        self.submit, self.concurrency = take, concurrency


def threads():
    return len(os.listdir("/proc/self/task"))


def test_the_threads_of_an_executor(rng):
    a, b = rng.normal(size=(300, 500)).astype(numpy.float32), rng.normal(size=(500, 24)).astype(numpy.float32)
    expected = a @ b  # NumPy's own threads are there, too
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        all_there = threading.Barrier(3)
        concurrent.futures.wait([pool.submit(all_there.wait) for _ in range(3)])
        before = threads()
        graph = dyn.Graph.from_text(PRODUCT, executor=pool, cache_dir="none")
        for rows in (300, 40, 299):
            numpy.testing.assert_allclose(graph.run({"a": a[:rows], "b": b})["c"], expected[:rows], rtol=1e-3, atol=1e-3)
        futures = [graph.run_async({"a": a, "b": b}) for _ in range(5)]
        for future in futures:
            numpy.testing.assert_allclose(future.result(60)["c"], expected, rtol=1e-3, atol=1e-3)
        assert threads() <= before
    numpy.testing.assert_allclose(graph.run({"a": a, "b": b})["c"], expected, rtol=1e-3, atol=1e-3)
    with pytest.raises(dyn.DeviceError, match=r"the executor's submit\(\) says: RuntimeError: cannot schedule new futures after shutdown"):
        graph.run_async({"a": a, "b": b}, lambda future: pytest.fail("nothing has begun"))


def test_executors_that_misbehave(rng):
    a, b = rng.normal(size=(300, 500)).astype(numpy.float32), rng.normal(size=(500, 24)).astype(numpy.float32)
    kept = []

    def raises(task):
        raise OSError("no threads today")

    def twice(task):
        threading.Thread(target=lambda: (task(), task())).start()

    for take in (kept.append, lambda task: None, raises, twice, lambda task: task()):
        graph = dyn.Graph.from_text(PRODUCT, executor=Odd(take), cache_dir="none")
        for _ in range(3):
            numpy.testing.assert_allclose(graph.run({"a": a, "b": b})["c"], a @ b, rtol=1e-3, atol=1e-3)
    future = dyn.Graph.from_text(PRODUCT, executor=Odd(lambda task: None), cache_dir="none").run_async({"a": a, "b": b})
    assert isinstance(future.exception(60), dyn.CancelledError)
    with pytest.raises(dyn.DeviceError, match="OSError: no threads today"):
        dyn.Graph.from_text(PRODUCT, executor=Odd(raises), cache_dir="none").run_async({"a": a, "b": b})
    del kept[:]
    late = dyn.Graph.from_text(PRODUCT, executor=Odd(kept.append), cache_dir="none").run_async({"a": a, "b": b})
    with pytest.raises(concurrent.futures.TimeoutError):
        late.result(0.01)
    for task in kept:
        task()
    numpy.testing.assert_allclose(late.result(60)["c"], a @ b, rtol=1e-3, atol=1e-3)


def test_memory(rng):
    graph = dyn.Graph(classifier(rng), threads=1, weight_cache_bytes=0)
    needed = graph.memory_needed({"x": (64, 13)})
    assert needed.outputs >= 64 * (5 * 4 + 8) and needed.weights == graph.load_report.weight_bytes
    assert needed.total == needed.weights + needed.intermediates + needed.outputs
    assert repr(needed).startswith(f"<dyn.MemoryNeeded: {needed.total} bytes, {needed.weights} of weights, ")
    small = dyn.Graph(classifier(rng), threads=1, memory_budget=needed.total, weight_cache_bytes=0)
    x = rng.normal(size=(40000, 13)).astype(numpy.float32)
    small.run({"x": x[:64]})
    with pytest.raises(dyn.DeviceError, match=f"budget.*{needed.total}|{needed.total}.*budget"):
        small.run({"x": x})
    assert small.run({"x": x[:64]})["p"].shape == (64, 5)
    outputs = graph.run({"x": x})
    graph.trim()
    numpy.testing.assert_array_equal(outputs["best"], graph.run({"x": x})["best"])
    for shapes, words in (({}, "'x' is missing"), ({"q": (1,)}, "no input 'q'"), ({"x": 3}, "no sequence of sizes")):
        with pytest.raises(dyn.UserError, match=words):
            graph.memory_needed(shapes)


def test_trim_gives_memory_back():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    graph = dyn.Graph.from_text(PRODUCT, threads=1)
    graph.run({"a": numpy.ones((3, 5), numpy.float32), "b": numpy.ones((5, 24), numpy.float32)})
    graph.trim()
    before = resident()
    graph.run({"a": numpy.ones((4096, 4096), numpy.float32), "b": numpy.ones((4096, 24), numpy.float32)})
    graph.trim()
    assert resident() < before + (16 << 20)


def test_progress_of_a_load(rng):
    seen = []
    dyn.Graph(classifier(rng), cache_dir="none", threads=1, progress=lambda *given: seen.append(given))  # None: it goes on
    assert {"parse", "compile", "weights"} <= {stage for stage, _, _ in seen}
    assert all(0 <= done <= all_of_it for _, done, all_of_it in seen)
    last = len(seen)
    for end in (0, last // 2, last - 1):
        given = []

        def until(*more, given=given, end=end):
            given.append(more)
            return len(given) <= end

        with pytest.raises(dyn.CancelledError, match="has ended the load, in stage"):
            dyn.Graph.from_memory(classifier(rng), cache_dir="none", threads=1, progress=until)
        assert len(given) == end + 1


def test_what_progress_raises_comes_out_of_the_load():
    for own in (ValueError("no"), KeyboardInterrupt(), dyn.ModelError("mine")):

        def raises(*given, own=own):
            raise own

        with pytest.raises(type(own)) as caught:
            dyn.Graph.from_text(SCALE, cache_dir="none", progress=raises)
        assert caught.value is own
