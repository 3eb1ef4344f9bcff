"""The package in a process of its own: at its end, and beside another libdyn."""

import pathlib
import subprocess
import sys

import dyn
import pytest
from models import COUNT, SCALE


def run_program(tmp_path, text):
    program = tmp_path / "program.py"
    program.write_text(text)
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0 and ended.stdout == "done\n" and ended.stderr == "", ended


@pytest.mark.parametrize("how", ["exit", "daemon"])
def test_a_program_ends_while_a_thread_runs(how, tmp_path):
    """Its end is clean, whatever threads do then."""
    run_program(
        tmp_path,
        f"""
import threading, numpy, dyn
graph = dyn.Graph.from_text({SCALE!r}, threads=1, log=lambda level, line: None)
kept = dyn.Tensor(numpy.ones(3, numpy.float32)).__dlpack__()
x = numpy.ones(100000, numpy.float32)
def forever():
    while True: graph.run({{"x": x, "y": x}})
if {how == "daemon"}:
    thread = threading.Thread(target=forever, daemon=True)
    thread.start()
graph.run({{"x": x, "y": x}})
print("done")
""",
    )


def test_a_program_ends_while_a_thread_is_in_a_kernel(tmp_path):
    run_program(
        tmp_path,
        """
import threading, time, numpy, dyn
inside = threading.Semaphore(0)
def kernel(inputs, outputs, attributes):
    inside.release()
    time.sleep(0.0005)
    outputs[0][...] = inputs[0]
own = dyn.Operator("my", "op", ["x"], shape=lambda inputs, attributes: inputs[0], kernel=kernel)
text = "dyn 1\\ndim N\\ngraph own(x: f32[N]) -> (y: f32[N]) {\\n  y = my::op(x)\\n  return y\\n}\\n"
graph = dyn.Graph.from_text(text, operators=[own])
def forever():
    while True: graph.run({"x": numpy.ones(5, numpy.float32)})
for _ in range(4): threading.Thread(target=forever, daemon=True).start()
for _ in range(8): inside.acquire()
print("done")
""",
    )


@pytest.mark.parametrize("how", ["own", "executor"])
def test_a_program_ends_while_a_run_goes_on_beside_it(how, tmp_path):
    """Its future gets the outputs before Python has gone."""
    run_program(
        tmp_path,
        f"""
import concurrent.futures, numpy, dyn
pool = concurrent.futures.ThreadPoolExecutor(2)
options = {{"executor": pool}} if {how == "executor"} else {{"threads": 1}}
graph = dyn.Graph.from_text({COUNT!r}, **options)
inputs = {{"x": numpy.zeros(2, numpy.int64), "go": numpy.array(True), "most": numpy.array(300000)}}
def done(future):
    assert future.result()["last"].tolist() == [300000 * 299999 // 2] * 2
    print("done", flush=True)
graph.run_async(inputs, done)
graph.close()
""",
    )


@pytest.mark.parametrize("order", ["before", "after"])
def test_another_libdyn_in_the_process(order, tmp_path):
    """Its symbols, which are visible to all, are not those that the module uses."""
    library = pathlib.Path(dyn.__file__).parents[2] / "libdyn.so"
    if not library.exists():
        pytest.skip("python.libdyn: there is no libdyn.so beside the package")
    load = f"ctypes.CDLL({str(library)!r}, mode=ctypes.RTLD_GLOBAL)"
    first, second = (load, "import dyn") if order == "before" else ("import dyn", load)
    run_program(
        tmp_path,
        f"""
import ctypes
{first}
{second}
graph = dyn.Graph.from_text({SCALE!r}, threads=1, cache_dir="none")
assert graph.run({{"x": [1], "y": [3]}})["z"].tolist() == [5]
try:
    dyn.Graph.from_text("nothing")
except dyn.ModelError:
    print("done")
""",
    )
