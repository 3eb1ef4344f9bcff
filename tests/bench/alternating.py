"""What comparisons of whole models share: peers in processes of their own, and dyn through `dynrun bench`, measured in turn.

A peer's process prints its version, then answers each line of JSON, {"case": ..., "seconds": ...}, with the median in ms and a sum of its output's magnitudes.
"""

import functools
import json
import os
import statistics
import subprocess
import sys
import time


def serve(version, prepare):
    """`prepare(case)` gives a function without arguments that runs the model once and returns its output as a numpy array."""
    import numpy

    print(version, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        run = prepare(request["case"])
        run()
        output = run()
        samples = []
        end = time.perf_counter() + request["seconds"]
        while len(samples) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            run()
            samples.append(time.perf_counter() - start)
        print(statistics.median(samples) * 1e3, float(numpy.abs(output, dtype=numpy.float64).sum()), flush=True)


class Cores:
    """Tells whether the machine's CPUs are apart. Virtual ones may share a core of the host for a while: then two threads are as fast as one, whoever's they are, and a slice of that time says nothing."""

    WORK = "import sys, time, numpy\na = numpy.ones((192, 192), numpy.float32)\nfor line in sys.stdin:\n start = time.perf_counter()\n for _ in range(150): a @ a\n print(time.perf_counter() - start, flush=True)"
    LEAST_GAIN = 0.8  # of what each further thread should add
    PATIENCE = 60  # seconds for one slice

    def __init__(self, threads):
        environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
        self.workers = [subprocess.Popen([sys.executable, "-c", self.WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(threads if threads > 1 else 0)]

    def _seconds(self, workers):
        for worker in workers:
            worker.stdin.write("\n")
            worker.stdin.flush()
        return max([float(worker.stdout.readline()) for worker in workers])

    def gain(self):
        """How much each thread besides the first one adds, at most 1."""
        alone = min(self._seconds(self.workers[:1]) for _ in range(2))
        return (len(self.workers) * alone / self._seconds(self.workers) - 1) / (len(self.workers) - 1)

    def wait(self):
        """Until they are apart. On a machine where they never are, each slice waits in vain: it is measured as it is."""
        end = time.perf_counter() + self.PATIENCE
        while self.workers and self.gain() < self.LEAST_GAIN and time.perf_counter() < end:
            time.sleep(0.3)


class Peer:
    """The process `python script --serve name arguments...`."""

    def __init__(self, script, name, *arguments):
        self.name = name
        self.process = subprocess.Popen([sys.executable, script, "--serve", name, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self.process.stdout.readline().strip()

    def measure(self, case, seconds):
        self.process.stdin.write(json.dumps({"case": case, "seconds": seconds}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise SystemExit(f"{self.name} ended at {case}")
        time.sleep(0.05)  # A peer's threads spin for a while after a run.
        return float(answer[0]), float(answer[1])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def dyn_row(dynrun, model, dims, threads, seconds, *options):
    """The first row of `dynrun bench`."""
    command = [dynrun, "bench", str(model), "--skip-load", "--threads", str(threads), "--warmup", "0.2", "--duration", str(seconds), "--format", "json", *options]
    for name, value in dims.items():
        command += ["--dims", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)[0]


def check_agreement(sums, case, agreement):
    """Checks that the peers' outputs agree up to a share of their sum: they have computed the same."""
    lowest, highest = min(sums.values()), max(sums.values())
    if agreement is not None and highest - lowest > agreement * highest:
        raise SystemExit(f"the peers' outputs differ at {case}: {sums}")


@functools.lru_cache
def cores(threads):
    """One for the process. Its workers end with it."""
    return Cores(threads)


def measured(peers, case, threads, rounds, seconds, own, agreement=1e-4):
    """Rounds in which each peer has a slice, then each function of `own` by name: times of the peers by name, and rows of our own. Slices begin when the cores of so many threads are apart."""
    wait = cores(threads).wait
    theirs, ours = {peer.name: [] for peer in peers}, {name: [] for name in own}
    for _ in range(rounds):
        sums = {}
        for peer in peers:
            wait()
            milliseconds, sums[peer.name] = peer.measure(case, seconds)
            theirs[peer.name].append(milliseconds)
        check_agreement(sums, case, agreement)
        for name, row in own.items():
            wait()
            ours[name].append(row())
    return theirs, ours


def summary(theirs, rows):
    """The medians of dyn and of each peer in ms, the median of the rounds' ratios of the best peer to dyn, and dyn's share of the machine's limit."""
    mine = [row["median_ms"] for row in rows]
    best = [min(times) for times in zip(*theirs.values())]
    limits = [row["limit_ratio"] for row in rows if row.get("limit_ratio") is not None]
    milliseconds = {"dyn": statistics.median(mine), **{name: statistics.median(times) for name, times in theirs.items()}}
    return {"ms": milliseconds, "ratio": statistics.median(t / m for t, m in zip(best, mine)), "limit_ratio": statistics.median(limits) if limits else None}


def cells(theirs, rows):
    """What summary() has, as the last cells of a table's row."""
    of = summary(theirs, rows)
    numbers = [*of["ms"].values(), of["ratio"], of["limit_ratio"]]
    return ["" if number is None else f"{number:.2f}" for number in numbers]
