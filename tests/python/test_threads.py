"""Threads: any number on one graph, one at a time on a call and in a session."""

import sys
import threading

import dyn
import numpy
from models import PRODUCT, SCALE, TOTALS

#: Long enough for another thread to come by.
LONG = numpy.ones((400, 900), numpy.float32), numpy.ones((900, 24), numpy.float32)


def in_threads(count, body):
    """Runs body(number) in as many threads, and raises what one of them raises."""
    errors = []

    def guarded(number):
        try:
            body(number)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def seen_while(work, times=200):
    """True where another thread gets on while `work` goes on: Python itself takes the GIL from nobody for a minute."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        for _ in range(times):
            lock, seen = threading.Lock(), []
            lock.acquire()

            def other(lock=lock, seen=seen):
                with lock:
                    seen.append(True)

            thread = threading.Thread(target=other)
            thread.start()
            lock.release()
            work()
            got_on = bool(seen)
            thread.join()
            if got_on:
                return True
        return False
    finally:
        sys.setswitchinterval(before)


def test_runs_and_loads_leave_the_gil_to_others():
    graph = dyn.Graph.from_text(PRODUCT, threads=1)
    call = dyn.Call(graph)
    call.set_input("a", LONG[0])
    call.set_input("b", LONG[1])
    assert not seen_while(lambda: sum(range(20000)), times=5)
    assert seen_while(lambda: graph.run({"a": LONG[0], "b": LONG[1]}))
    assert seen_while(call.run)
    assert seen_while(lambda: dyn.Graph.from_text(PRODUCT, threads=1, cache_dir="none"))


def test_many_threads_run_one_graph(rng):
    graph = dyn.Graph.from_text(PRODUCT, threads=2)
    inputs = [(rng.normal(size=(3 + n, 20 + n)).astype(numpy.float32), rng.normal(size=(20 + n, 24)).astype(numpy.float32)) for n in range(8)]

    def body(number):
        a, b = inputs[number]
        for _ in range(30):
            numpy.testing.assert_allclose(graph.run({"a": a, "b": b})["c"], a @ b, rtol=1e-4, atol=1e-4)

    in_threads(8, body)


def test_a_graph_that_is_closed_while_it_runs(rng):
    a, b = LONG
    graph = dyn.Graph.from_text(PRODUCT, threads=1)
    closed = threading.Event()

    def body(number):
        try:
            for _ in range(1000000):
                assert graph.run({"a": a, "b": b})["c"][0, 0] == 900
        except dyn.UserError as error:
            assert "this dyn.Graph was closed" in str(error)
            closed.set()

    closer = threading.Timer(0.02, graph.close)
    closer.start()
    in_threads(3, body)
    closer.join()
    assert closed.is_set()


def test_a_call_in_two_threads_is_refused():
    """One of both gets the error; neither crashes, and the call goes on."""
    graph = dyn.Graph.from_text(PRODUCT, threads=1)
    call = dyn.Call(graph)
    call.set_input("a", LONG[0])
    call.set_input("b", LONG[1])
    words = "this dyn.Call runs in another thread; use one Call for each thread"
    refused, stop = [], threading.Event()
    uses = [
        call.run,
        lambda: call.set_input("a", LONG[0]),
        lambda: call.set_output("c", numpy.zeros((400, 24), numpy.float32)),
        lambda: call.output("c"),
        call.close,
    ]

    def runs():
        while not stop.is_set():
            try:
                call.run()
            except dyn.UserError as error:
                if "was closed" in str(error):
                    return
                assert words in str(error)

    runner = threading.Thread(target=runs)
    runner.start()
    try:
        for use in uses:
            for _ in range(100000):
                try:
                    if use != call.close or "running" in repr(call):
                        use()
                except dyn.UserError as error:
                    refused.append((use, str(error)))
                    break
                if use == call.close and "closed" in repr(call):
                    break
    finally:
        stop.set()
        runner.join()
    assert [use for use, _ in refused][: len(uses) - 1] == uses[:-1]
    assert all(words in text or "was closed" in text for _, text in refused)


def test_a_session_in_two_threads_is_refused():
    graph = dyn.Graph.from_text(TOTALS, threads=1)
    session = dyn.Session(graph, {"B": 8, "C": 64})
    x = numpy.ones((8, 16, 3), numpy.float32)
    refused = []

    def body(number):
        for _ in range(2000):
            try:
                session.run({"x": x})
            except dyn.UserError as error:
                refused.append(str(error))
                if "room" not in str(error):
                    return
            try:
                session.reset()
            except dyn.UserError as error:
                refused.append(str(error))
                return

    in_threads(2, body)
    session.reset()
    assert session.run({"x": x})["total"][0, 0, 0] == 16


def test_a_log_is_called_without_deadlock():
    lines = []

    def body(number):
        for _ in range(5):
            graph = dyn.Graph.from_text(SCALE, cache_dir="none", log=lambda level, line: lines.append(line))
            assert graph.run({"x": [number], "y": [1]})["z"].tolist() == [2 * number + 1]

    in_threads(4, body)


def test_outputs_outlive_graphs_and_threads(rng):
    kept = []

    def body(number):
        x = rng.normal(size=4).astype(numpy.float32)
        with dyn.Graph.from_text(SCALE, threads=1) as graph:
            kept.append((graph.run({"x": x, "y": x})["z"], x))

    in_threads(1, body)
    for z, x in kept:
        numpy.testing.assert_allclose(z, 3 * x, rtol=1e-6)
