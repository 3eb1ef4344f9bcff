"""What runs did, as profiles tell it."""

import json
import logging
import os
import time

import dyn
import numpy
import pytest
from models import COUNT, TOTALS, classifier

LAYERS = """dyn 1
dim N in 1..4096
weight w: f32[96, 640] = random 1
weight v: f32[640, 48] = random 2
graph layers(x: f32[N, 96]) -> (y: f32[N, 48]) {
  h = gelu(matmul(x, w))
  y = softmax(matmul(h, v)) axis=-1
  return y
}
"""


def check(profile, before, after):
    """What holds for every run."""
    assert before <= profile.start_ns <= profile.end_ns <= after
    moments = [profile.start_ns]
    for event in profile.events:
        assert event.kind == "group" and 0 <= event.group < len(profile.groups)
        moments += [event.start_ns, event.end_ns]
    assert moments == sorted(moments) and moments[-1] <= profile.end_ns
    for part in profile.slices:
        event = profile.events[part.event]
        assert event.start_ns <= part.start_ns <= part.end_ns <= event.end_ns
        assert 0 <= part.thread < profile.threads and part.stage in (0, 1)
    for buffer in profile.buffers:
        assert 0 <= buffer.first_event <= buffer.last_event < len(profile.events)
        assert buffer.bytes > 0 and (buffer.on_device or buffer.offset + buffer.bytes <= profile.arena_bytes)


def test_groups_events_slices_and_buffers(rng):
    graph = dyn.Graph.from_text(LAYERS, threads=2, device="cpu")
    x = rng.normal(0, 1, (300, 96)).astype(numpy.float32)
    profile = dyn.Profile("300 rows")
    assert repr(profile) == "<dyn.Profile '300 rows': 0 ns, 0 events of 0 groups, 0 threads>"
    before = time.monotonic_ns()
    outputs = graph.run({"x": x}, profile=profile)
    check(profile, before, time.monotonic_ns())
    numpy.testing.assert_array_equal(outputs["y"], graph.run({"x": x})["y"])
    assert [group.operators.split()[0] for group in profile.groups[:2]] == ["matmul", "matmul"]
    assert [event.group for event in profile.events] == list(range(len(profile.groups)))
    first = profile.groups[0]
    assert first.flops == 2 * 300 * 96 * 640 and first.bytes >= 4 * (300 * 96 + 96 * 640 + 300 * 640)
    assert first.device.startswith("cpu/") and first.kernel and first.predicted_seconds > 0 and first.threads in (1, 2)
    assert first.name in [kernel.name for kernel in graph.kernels()]
    tickets = [part.count for part in profile.slices if part.event == 0 and part.stage == 0]
    assert sum(tickets) == first.tickets > 0
    assert max(buffer.bytes for buffer in profile.buffers) >= 4 * 300 * 640 and profile.arena_bytes >= 4 * 300 * 640
    assert profile.groups is profile.groups and isinstance(profile.events, tuple)
    for told, words in (
        (profile, f"<dyn.Profile '300 rows': {profile.end_ns - profile.start_ns} ns, {len(profile.events)} events of"),
        (first, f"<dyn.ProfileGroup {first.name}: {first.operators} on {first.device}>"),
        (profile.events[1], "<dyn.ProfileEvent group 1: "),
        (profile.slices[0], f"<dyn.ProfileSlice {profile.slices[0].count} tickets of event 0 by thread {profile.slices[0].thread}: "),
        (profile.buffers[0], f"<dyn.ProfileBuffer {profile.buffers[0].tensor}: {profile.buffers[0].bytes} bytes at "),
    ):
        assert repr(told).startswith(words)


def test_calls_and_sessions_fill_it_anew(rng):
    graph = dyn.Graph.from_text(LAYERS, threads=1)
    call, profile = dyn.Call(graph), dyn.Profile()
    flops = []
    for rows in (2, 70):
        call.set_input("x", rng.normal(0, 1, (rows, 96)).astype(numpy.float32))
        before = time.monotonic_ns()
        call.run(profile=profile)
        check(profile, before, time.monotonic_ns())
        flops.append(profile.groups[0].flops)
    assert flops == [2 * 2 * 96 * 640, 2 * 70 * 96 * 640]
    with dyn.Session(dyn.Graph.from_text(TOTALS), {"B": 1}) as session:
        before = time.monotonic_ns()
        session.run({"x": numpy.ones((1, 2, 3), numpy.float32)}, profile=profile)
        check(profile, before, time.monotonic_ns())
        assert any("reduce_sum" in group.operators for group in profile.groups) and session.length == 2


def test_a_run_that_fails_tells_what_it_did():
    graph = dyn.Graph.from_text(COUNT, threads=1, max_loop_steps=2**60)
    inputs = {"x": numpy.zeros(2, numpy.int64), "go": numpy.array(True), "most": numpy.array(2**60)}
    profile, before = dyn.Profile(), time.monotonic_ns()
    with pytest.raises(dyn.CancelledError):
        graph.run(inputs, timeout=0.05, profile=profile)
    assert before <= profile.start_ns < profile.end_ns <= time.monotonic_ns() and profile.events


def test_traces(rng):
    graph = dyn.Graph.from_text(LAYERS, threads=2)
    profiles = [dyn.Profile("first \u00b5"), dyn.Profile()]
    for profile in profiles:
        graph.run({"x": rng.normal(0, 1, (40, 96)).astype(numpy.float32)}, profile=profile)
    profiles[1].label = "second"
    events = json.loads(dyn.chrome_trace(profiles))["traceEvents"]
    assert [event["args"]["name"] for event in events if event["name"] == "process_name"] == ["first \u00b5", "second"]
    spans = [event for event in events if event["ph"] == "X"]
    assert min(span["ts"] for span in spans) == 0
    whole = [span["dur"] for span in spans if span["name"] in ("first \u00b5", "second")]
    assert whole == pytest.approx([(profile.end_ns - profile.start_ns) / 1e3 for profile in profiles])
    assert json.loads(dyn.chrome_trace([]))["traceEvents"] == []


@pytest.mark.parametrize("wrong", ["label", True, dyn.Profile])
def test_what_is_no_profile(wrong):
    graph = dyn.Graph.from_text(LAYERS)
    x = numpy.ones((1, 96), numpy.float32)
    call = dyn.Call(graph)
    call.set_input(0, x)
    for use in (
        lambda: graph.run({"x": x}, profile=wrong),
        lambda: call.run(profile=wrong),
        lambda: dyn.chrome_trace([wrong]),
        lambda: dyn.chrome_trace(wrong),
        lambda: graph.run({"x": x}, profile=dyn.Profile.__new__(dyn.Profile)),
    ):
        with pytest.raises(dyn.UserError, match=r"dyn\.Profile"):
            use()
    with pytest.raises(TypeError):
        dyn.Profile(3)


def test_a_session_writes_a_file_as_onnx_runtime_does(rng, tmp_path, monkeypatch):
    import onnxruntime as ort

    monkeypatch.chdir(tmp_path)
    model = classifier(rng)
    x = rng.normal(0, 1, (6, 13)).astype(numpy.float32)
    names = []
    for runtime in (dyn, ort):
        options = runtime.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = runtime.__name__
        before = time.monotonic_ns()
        session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        assert runtime is ort or before <= session.get_profiling_start_time_ns() <= time.monotonic_ns()
        session.run(None, {"x": x})
        session.run(["best"], {"x": x}, runtime.RunOptions())
        session.run_with_ort_values(["p"], {"x": runtime.OrtValue.ortvalue_from_numpy(x)})
        binding = session.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_output("p")
        session.run_with_iobinding(binding)
        names.append(session.end_profiling())
        assert os.path.isfile(names[-1]) and names[-1].startswith(runtime.__name__ + "_") and names[-1].endswith(".json")
        session.run(None, {"x": x})
    events = json.loads((tmp_path / names[0]).read_text())["traceEvents"]
    assert [event["args"]["name"] for event in events if event["name"] == "process_name"] == [f"run {number}" for number in range(4)]
    session = dyn.InferenceSession(model)
    session.run(None, {"x": x})
    assert session.end_profiling() == "" and session.get_profiling_start_time_ns() == 0
    assert len(list(tmp_path.iterdir())) == 2


def test_a_session_that_nobody_ends_keeps_the_first_runs(rng, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dyn.profiling._MOST_RUNS", 2)
    options = dyn.SessionOptions()
    options.enable_profiling = True
    session = dyn.InferenceSession(classifier(rng), options)
    with caplog.at_level(logging.WARNING, "dyn"):
        for _ in range(4):
            session.run(None, {"x": numpy.ones((1, 13), numpy.float32)})
    assert [record.getMessage() for record in caplog.records] == ["profiling: the trace has 2 runs; further ones are left out until end_profiling()"]
    assert json.loads((tmp_path / session.end_profiling()).read_text())["traceEvents"][0]["args"]["name"] == "run 0"
