"""Measures what the page needs with dynrun, in pieces that are kept, so that a stopped run goes on."""

import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import cases
import facts
import paper_models
import raw

PREDICTED_CHUNK = 1024  # shapes of one command on a described GPU: a few tens of milliseconds each
STOPPED = "stopped by a signal"  # what dynrun tune says on stderr when it ends early, with exit code 0
MODEL_TURNS = 2  # of each policy; the lesser median counts
RUN = raw.POLICIES[:-1]  # what whole models and builds are run with

# Seconds of one shape, or of one command for a policy, before anything was measured here.
SECONDS = {"cpu select": 10, "cpu variants": 10, "cpu tuned": 10, "cpu search": 20, "cuda search": 0.3, "cpu op": 5, "cpu build": 10, "cpu model": 8, "cpu peer": 20, "cpu valid": 0.1,
           "cuda select": 0.2, "cuda variants": 0.2, "cuda tuned": 0.2, "cuda counters": 20, "cuda valid": 0.05}


class Failed(Exception):
    pass


def machine_text():
    info = pathlib.Path("/proc/cpuinfo").read_text()

    def field(name):
        found = re.search(rf"^{name}\s*: (.*)$", info, re.MULTILINE)
        return found.group(1).strip() if found else "?"
    processors = len(re.findall(r"^processor", info, re.MULTILINE))
    return f"{processors} CPUs of an {field('model name')} (family {field('cpu family')}, model {field('model')})"


def revision_text():
    found = subprocess.run(["git", "-C", str(facts.ROOT), "describe", "--always", "--abbrev=12", "--exclude=*"], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else "?"


def program_stamp(dynrun):
    """Changes with the program: what another one printed is not kept."""
    found = dynrun.stat()
    return [found.st_size, found.st_mtime_ns]


def op_of(workload, case):
    """What `dynrun op` asks for beside a suite."""
    return workload.get("op", "conv" if " OC " in case.header else "matmul")


def duration_text(seconds):
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Step:
    """One file of results. `make()` gives its rows, and what its head has beside the usual; `units` are what it takes time for: shapes, or commands."""

    def __init__(self, setting_name, name, kind, command, sample, units, make):
        self.setting_name, self.name, self.kind = setting_name, name, kind
        self.command, self.sample, self.units, self.make = command, sample, units, make

    def words(self):
        return f"{self.setting_name} {self.name}: {self.kind}" + (f", {self.sample}" if self.sample else "")


class Pace:
    """How long a unit of each kind took so far, kept beside the outputs."""

    def __init__(self, folder):
        self.path = folder / "pace.json"
        self.spent = json.loads(self.path.read_text()) if self.path.exists() else {}

    def add(self, kind, units, seconds):
        before = self.spent.get(kind, [0, 0])
        self.spent[kind] = [before[0] + units, before[1] + seconds]
        self.path.write_text(json.dumps(self.spent))

    def seconds(self, kind, units):
        count, spent = self.spent.get(kind, [0, 0])
        return units * (spent / count if count else SECONDS[kind])


class Measurer:
    """`options`: those of make_page.py."""

    def __init__(self, options):
        self.options = options
        self.work = options.work
        self.failures = []
        self.program = program_stamp(options.dynrun)
        self.pace = Pace(self.work)
        self.kind = None  # of the step that runs, as of SECONDS

    # One program, unless its output is kept from an earlier run.
    # `result`: a file that it writes in place of stdout.
    def output(self, words, files=(), turn=0, units=1, program=None, result=None):
        key = hashlib.sha256(json.dumps([self.program, turn, words, [[name, text] for name, text in files]]).encode()).hexdigest()[:24]
        kept = self.work / f"{key}.out"
        if kept.exists():
            return kept.read_text(), (self.work / f"{key}.err").read_text()
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files:
                (pathlib.Path(folder) / name).write_text(text)
            command = (program or [str(self.options.dynrun)]) + [word.replace("FOLDER/", f"{folder}/") for word in words]
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            output = (pathlib.Path(folder) / result).read_text() if result and done.returncode == 0 else done.stdout
        if done.returncode != 0:
            raise Failed(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
        if STOPPED in done.stderr:
            raise Failed(STOPPED)
        self.work.mkdir(parents=True, exist_ok=True)
        (self.work / f"{key}.err").write_text(done.stderr)
        part = kept.with_suffix(".part")
        part.write_text(output)
        part.rename(kept)
        if self.kind:
            self.pace.add(self.kind, units, time.monotonic() - start)
        return output, done.stderr

    def head(self, step):
        return {"date": datetime.date.today().isoformat(), "machine": machine_text(), "revision": revision_text(),
                "command": step.command, "sample": step.sample, "note": self.options.note}

    def sample_text(self, sample, most_gflop):
        text = f"{len(sample.cases)} of {sample.whole} shapes"
        if len(sample.cases) + sample.left_out < sample.whole:
            text += f", drawn with seed {self.options.seed}"
        if sample.left_out:
            text += f"; {sample.left_out} have more than {most_gflop:g} GFLOP"
        return text

    def write(self, step, head, rows):
        path = raw.path_of(self.options.results, step.setting_name, step.name, step.kind)
        self.options.results.mkdir(parents=True, exist_ok=True)
        path.write_text(raw.Raw(head, rows).text())

    def is_done(self, step):
        """Whether the results hold this already; another sample or other flags are measured anew."""
        old = raw.read(self.options.results, step.setting_name, step.name, step.kind)
        return old is not None and "failed" not in old.head and old.head.get("command") == step.command and old.head.get("sample", "") == step.sample

    # Runs a command for each chunk of the sample. `base`: its words but for the problems. Returns stdout of all, and the last stderr.
    # `more`: files beside the suite; `size`: shapes of one command.
    def over(self, sample, workload, base, op_word, more=(), size=None):
        texts, error, size = [], "", size or (PREDICTED_CHUNK if "--gpu" in base else self.options.chunk)
        for number, chunk in enumerate(cases.chunks_of(sample.cases, size)):
            if number > 0:
                print(f"  {number * size} of {len(sample.cases)}", file=sys.stderr, flush=True)
            if chunk[0].suite is None:
                words = [base[0], workload["op"], workload["types"], "--dims", f"{workload['dim']}={','.join(case.line for case in chunk)}"]
                files = []
            else:
                name = f"{chunk[0].suite}.txt"
                files = [(name, suite_text(chunk)), *more]
                words = [base[0]] + ([op_of(workload, chunk[0]), "--suite"] if op_word else []) + [f"FOLDER/{name}"]
            text, error = self.output(words + base[1:], files, units=len(chunk))
            texts.append(text)
        return texts, error

    def flags_of(self, setting):
        if setting["device"] == "cpu":
            return ["--threads", str(setting["threads"])]
        return ["--device", "cuda", "--gpu", setting["gpu"], "--precision", setting["precision"]]

    def timing_flags(self, setting):
        return ["--rounds", str(self.options.rounds), "--slice-ms", f"{self.options.slice_ms:g}"] if setting["device"] == "cpu" else []

    def words_of(self, workload):
        if "types" in workload:
            return f"{workload['op']} \"{workload['types']}\" --dims {workload['dim']}={workload['values']}"
        return f"tests/bench/suites/{workload['suite']}"

    def sample_of(self, name, workload, setting):
        options = self.options
        if setting["device"] == "cpu":
            return cases.sample(name, workload, options.most_shapes, options.most_gflop, options.seed)
        return cases.sample(name, workload, options.most_predicted, None, options.seed)

    # A step that runs `dynrun select` for some policies over a workload.
    def selecting(self, kind, policies, file_name, name, workload, setting_name, setting):
        sample = self.sample_of(name, workload, setting)
        if not sample.cases:
            return None
        flags = self.flags_of(setting) + self.timing_flags(setting)
        named = [] if kind == "select" else ["--policies", policies]
        command = " ".join(["dynrun select", self.words_of(workload)] + flags + named)

        def make():
            texts, _ = self.over(sample, workload, ["select", "--policies", policies, "--format", "csv"] + flags, False)
            return [row for text in texts for row in raw.choices(text)], {}
        return Step(setting_name, file_name, kind, command, self.sample_text(sample, self.options.most_gflop), len(sample.cases), make)

    def choices(self, name, workload, setting_name, setting):
        return self.selecting("select", ",".join(raw.POLICIES + ["oracle"]), name, name, workload, setting_name, setting)

    def tuned(self, name, workload, setting_name, setting):
        """The choices of a paper's policy among what its own tuner found for the whole suite."""
        if "tuned" not in workload:
            return None
        sample = self.sample_of(name, workload, setting)
        if not sample.cases:
            return None
        policy, flags = workload["tuned"], self.flags_of(setting)
        suite = self.words_of(workload)
        search = ["--policy", policy, "--budget", str(self.options.tuning_budget)]
        slice_ = ["--slice-ms", f"{self.options.slice_ms:g}"] if setting["device"] == "cpu" else []
        command = " ".join(["dynrun tune", suite, *search, *flags, *slice_, "-o POOL; dynrun select", suite, *flags, *self.timing_flags(setting), "--tuning POOL"])

        def make():
            pool, _ = self.output(["tune", str(facts.suite_path(workload)), *search, *flags, *slice_, "-o", "FOLDER/pool.json"], units=0, result="pool.json")
            words = ["--policies", f"dyn,{policy},oracle", "--format", "csv", "--tuning", "FOLDER/pool.json"] + flags + self.timing_flags(setting)
            texts, _ = self.over(sample, workload, ["select"] + words, False, [("pool.json", pool)])
            return [row for text in texts for row in raw.choices(text)], {}
        return Step(setting_name, name, "tuned", command, self.sample_text(sample, self.options.most_gflop), len(sample.cases), make)

    def search(self, name, workload, setting_name, setting):
        """dyn's own tuner beside dyn's choice, on the same shapes. Short chunks on GPUs too, as a search predicts many programs."""
        sample = self.sample_of(name, workload, setting)
        if not sample.cases or not self.options.search_budget:
            return None
        flags = ["--method", "bayes", "--budget", str(self.options.search_budget), "--seed", str(self.options.seed)] + self.flags_of(setting) + self.timing_flags(setting)
        command = " ".join(["dynrun tune", self.words_of(workload)] + flags + ["-o FILE"])

        def make():
            texts, _ = self.over(sample, workload, ["tune", "--format", "csv", "-o", "FOLDER/found.json"] + flags, False, size=self.options.chunk)
            return [row for text in texts for row in raw.searches(text)], {}
        return Step(setting_name, name, "search", command, self.sample_text(sample, self.options.most_gflop), len(sample.cases), make)

    def variants(self, paper, data, setting_name, setting):
        """A paper's own variants beside each other, and the best of all their programs."""
        of = paper["variants"]
        workload = data["workloads"][of["workload"]]
        return self.selecting("variants", ",".join(of["policies"] + ["oracle"]), paper["policy"], of["workload"], workload, setting_name, setting)

    def peers(self, name, workload, setting_name, setting):
        if setting["device"] != "cpu" or not self.options.peers:
            return None
        sample = self.sample_of(name, workload, setting)
        if not sample.cases:
            return None
        names = ",".join(peer.split("=")[0] for peer in self.options.peers.split(","))
        flags = self.flags_of(setting) + self.timing_flags(setting)
        command = " ".join([f"dynrun op {op_of(workload, sample.cases[0])} --suite" if "suite" in workload else "dynrun op", self.words_of(workload)] +
                           flags + ["--peers", names])

        def make():
            texts, error = self.over(sample, workload, ["op", "--peers", self.options.peers, "--format", "csv"] + flags, True)
            versions = "; ".join(sorted(set(re.findall(r"^dynrun: peer (\w+: .*)$", error, re.MULTILINE))))
            return [row for text in texts for row in raw.peers(text)], {"peers": versions}
        return Step(setting_name, name, "op", command, self.sample_text(sample, self.options.most_gflop), len(sample.cases), make)

    # What the emulator counts of each policy's program, beside what is predicted of it.
    def counters(self, name, workload, setting_name, setting):
        if setting_name not in workload.get("counters", []):
            return None
        counted = cases.counted(workload)
        flags = ["--gpu", setting["gpu"], "--precision", setting["precision"]]
        shapes = "; ".join(case.line for case in counted)
        command = f"dynrun explain MODEL ({shapes}) --device emulator {' '.join(flags)} --counters --policy POLICY"

        def make():
            words = ["select", "FOLDER/counted.txt", "--policies", ",".join(raw.POLICIES + ["oracle"]), "--format", "csv"]
            predicted = raw.choices(self.output(words + self.flags_of(setting), [("counted.txt", suite_text(counted))], units=0)[0])
            rows = []
            for case, of_shape in zip(counted, predicted):
                model, dims = model_of(case)
                for policy in RUN:
                    text, _ = self.output(["explain", "FOLDER/op.dyn", *dims, "--device", "emulator", *flags,
                                           "--counters", "--policy", policy, "--format", "csv"], [("op.dyn", model)])
                    got = raw.parse(text).rows[0]
                    rows.append({"shape": of_shape["shape"], "policy": policy, "predicted_us": f"{float(of_shape[f'{policy}_ns']) / 1e3:.4g}",
                                 "least_us": got["least us"], "bound": got["bound"], "blocks": got["blocks"],
                                 "instructions": got["instructions"], "multiply": got["multiply"], "wavefronts": got["wavefronts"],
                                 "sectors": got["sectors"], "touched": got["touched"]})
            return rows, {}
        return Step(setting_name, name, "counters", command, "", len(counted) * len(RUN), make)

    # Loads with nothing kept from before: measuring the machine, making programs, compiling.
    def build(self, item, setting_name, setting):
        command = f"dynrun bench {item.get('model', item['id'] + '.dyn')} --load-only --random-weights --policy POLICY --cache-dir EMPTY {' '.join(self.flags_of(setting))}"

        def make():
            model = str(facts.EXAMPLES / item["model"]) if "model" in item else "FOLDER/op.dyn"
            files = [] if "model" in item else [("op.dyn", "\n".join(item["text"]) + "\n")]
            rows = []
            for policy in RUN:
                text, _ = self.output(["bench", model, "--load-only", "--random-weights", "--policy", policy, "--cache-dir", "FOLDER/cache",
                                       "--format", "csv"] + self.flags_of(setting), files)
                load = raw.parse(text).rows[0]
                rows.append({"policy": policy} | {column: shortened_or_zero(load[column]) for column in
                                                  ("total_ms", "machine_ms", "measure_ms", "compile_ms", "kernels", "compiled")})
            return rows, {}
        return Step(setting_name, item["id"], "build", command, "", len(RUN), make)

    def model_path(self, name):
        """Of examples/models, or written by paper_models.py."""
        if (facts.EXAMPLES / name).exists():
            return facts.EXAMPLES / name
        folder = self.work / "models"
        if not (folder / name).exists():
            paper_models.write_all(folder)
        return folder / name

    def model_sample(self, item):
        return cases.sample(item["id"], item, self.options.most_shapes, self.options.most_model_gflop, self.options.seed)

    # Whole models by each policy in turn; the lesser median counts.
    def models(self, item, setting_name, setting):
        sample = self.model_sample(item)
        if not sample.cases:
            return None
        flags = ["--random-weights", "--skip-load", "--duration", "0.5"]
        dims = " ".join(f"--dims {name}={values.removeprefix('=')}" for name, values in item["dims"].items())
        command = " ".join(["dynrun bench", item["model"], *flags, dims, *self.flags_of(setting), "--policy POLICY"])

        def make():
            least = {}
            for turn in range(MODEL_TURNS):
                for policy in RUN:
                    for chunk in cases.alike_but_one(sample.cases):
                        for case, row in zip(chunk, self.bench_rows(item, chunk, flags + self.flags_of(setting) + ["--policy", policy], turn)):
                            key = (case.line, policy)
                            least[key] = min(least.get(key, float("inf")), float(row["median_ms"]))
            return [{"shape": case.text()} | {f"{policy}_ms": f"{least[case.line, policy]:.4g}" for policy in RUN} for case in sample.cases], {}
        return Step(setting_name, item["id"], "model", command, self.sample_text(sample, self.options.most_model_gflop), len(sample.cases) * len(RUN) * MODEL_TURNS, make)

    # Whole models beside libraries, by the scripts that compare them; those of a CNN take images of one size at a time.
    def model_peers(self, item, setting_name, setting):
        if "peers" not in item or not self.options.model_peers:
            return None
        sample = self.model_sample(item)
        if not sample.cases:
            return None
        script = f"compare_{item['peers']}.py"
        named = ["--model"] if item["peers"] == "bert" else ["--models"]
        flags = named + [item["model"].removesuffix(".dyn"), "--threads", str(setting["threads"]), "--rounds", "3", "--slice", "0.3", "--peers", *self.options.model_peers]
        dims = " ".join(f"{name}={values.removeprefix('=')}" for name, values in item["dims"].items())
        command = " ".join([f"python3 tests/bench/{script}", *flags, f"({dims})"])
        program = [self.options.python, str(facts.ROOT / "tests" / "bench" / script), "--dynrun", str(self.options.dynrun.resolve()), "--temp", str(self.work.resolve())]

        def make():
            rows, versions = [], {}
            for run in cases.alike_but_one(sample.cases):
                text, _ = self.output(flags + shape_flags(item["peers"], run) + ["--json", "FOLDER/rows.json"], units=len(run), program=program, result="rows.json")
                got = json.loads(text)
                versions = got.get("versions") or got["source"]["versions"]
                rows += [{"shape": case.text(), "dyn_ms": shortened_or_zero(str(row["ms"]["dyn"]))} |
                         {f"ratio_{name}": f"{row['ms'][name] / row['ms']['dyn']:.4g}" for name in versions} for case, row in zip(run, got["rows"])]
            return rows, {"peers": "; ".join(f"{name} {version}" for name, version in versions.items())}
        return Step(setting_name, item["id"], "peer", command, self.sample_text(sample, self.options.most_model_gflop), len(sample.cases), make)

    def bench_rows(self, item, chunk, flags, turn):
        names = chunk[0].header.split()
        values = zip(*(case.line.split() for case in chunk))
        dims = [word for name, of in zip(names, values) for word in ("--dims", f"{name}={','.join(dict.fromkeys(of))}")]
        text, _ = self.output(["bench", str(self.model_path(item["model"])), "--format", "csv", *dims, *flags], turn=turn, units=len(chunk))
        return raw.parse(text).rows

    # Counts of shapes for which each policy has a program; on a CPU each ran, and its result was compared.
    def valid(self, item, setting_name, setting):
        workload = {"op": item["op"], "types": item["types"][setting_name], "dim": item["dim"], "values": item["values"]}
        measured = setting["device"] == "cpu"
        sample = cases.sample("valid", workload, self.options.most_valid if measured else None, None, self.options.seed)
        flags = self.flags_of(setting) + (["--rounds", "2", "--slice-ms", "0.01"] if measured else [])
        command = " ".join(["dynrun select", self.words_of(workload)] + flags)

        def make():
            texts, _ = self.over(sample, workload, ["select", "--policies", ",".join(RUN), "--format", "csv"] + flags, False)
            shapes = [row for text in texts for row in raw.choices(text)]
            rows = []
            for policy in RUN:
                bad = [row["shape"] for row in shapes if not row[f"{policy}_ns"]]
                rows.append({"policy": policy, "shapes": len(shapes), "valid": len(shapes) - len(bad), "first_invalid": bad[0] if bad else ""})
            return rows, {}
        return Step(setting_name, "valid", "valid", command, self.sample_text(sample, None), len(sample.cases), make)

    def is_wanted(self, name):
        return not self.options.workloads or name in self.options.workloads

    def all_steps(self, papers, data):
        """What the options ask for, whether it is there or not, in the order of the settings."""
        for setting_name, setting in data["settings"].items():
            if self.options.settings and setting_name not in self.options.settings:
                continue
            of = (setting_name, setting)
            for item in data["build"]:
                if setting_name in item["settings"] and self.is_wanted(item["id"]):
                    yield self.build(item, *of)
            for name, workload in data["workloads"].items():
                if setting_name in workload["settings"] and self.is_wanted(name):
                    yield self.choices(name, workload, *of)
                    yield self.tuned(name, workload, *of)
                    yield self.search(name, workload, *of)
                    yield self.peers(name, workload, *of)
                    yield self.counters(name, workload, *of)
            for paper in papers.values():
                if "variants" in paper and setting_name in paper["variants"]["settings"] and self.is_wanted(paper["policy"]):
                    yield self.variants(paper, data, *of)
            for item in data["models"]:
                if setting_name in item["settings"] and self.is_wanted(item["id"]):
                    yield self.models(item, *of)
                    yield self.model_peers(item, *of)
            if setting_name in data["valid"]["settings"] and self.is_wanted("valid"):
                yield self.valid(data["valid"], *of)

    def pace_kind(self, step, data):
        return f"{data['settings'][step.setting_name]['device']} {step.kind}"

    def plan(self, papers, data):
        """The steps that are missing."""
        return [step for step in self.all_steps(papers, data) if step and not self.is_done(step)]

    def estimate(self, steps, data):
        return sum(self.pace.seconds(self.pace_kind(step, data), step.units) for step in steps)

    def run(self, step):
        try:
            rows, more = step.make()
        except Failed as error:
            self.write(step, self.head(step) | {"failed": str(error).removeprefix("dynrun: error: ")}, [])
            self.failures.append(f"{step.setting_name} {step.name}: {error}")
            print(f"  failed: {error}", file=sys.stderr, flush=True)
        else:
            self.write(step, self.head(step) | more, rows)

    def all(self, papers, data):
        steps = self.plan(papers, data)
        self.work.mkdir(parents=True, exist_ok=True)
        for number, step in enumerate(steps):
            left = duration_text(self.estimate(steps[number:], data))
            print(f"[{number + 1} of {len(steps)}, {left} left] {step.words()}", file=sys.stderr, flush=True)
            self.kind = self.pace_kind(step, data)
            self.run(step)
        return self.failures

    def plan_text(self, papers, data):
        steps = self.plan(papers, data)
        lines = [f"{duration_text(self.estimate([step], data)):>8}  {step.words()}" for step in steps]
        return "\n".join(lines + [f"{duration_text(self.estimate(steps, data)):>8}  in all, {len(steps)} files"])


def shortened_or_zero(text):
    return f"{float(text):.4g}" if text else ""


def shape_flags(kind, run):
    """As the scripts take shapes that differ in one size."""
    of = {name: list(dict.fromkeys(values)) for name, values in zip(run[0].header.split(), zip(*(case.line.split() for case in run)))}
    if kind == "bert":
        return ["--batches", *of["B"], "--lengths", *of["S"]]
    size = [] if of["H"] == ["224"] else ["--only-sizes", "--sizes", *of["H"]]
    return ["--batches", *of["N"], *(size or ["--sizes"])]


def suite_text(chunk):
    return "\n".join([chunk[0].header] + [case.line for case in chunk]) + "\n"


def model_of(case):
    """A product of a suite as a model, for commands that take no suites, and its dims: with a constant weight all sizes but M are fixed, else none."""
    of = dict(case.sizes())
    if "TA" not in of:
        dims, weights = ["M"], [f"weight b: f32[{of['K']}, {of['N']}] = random 1"]
        inputs, result, attributes = f"a: f32[M, {of['K']}]", f"M, {of['N']}", ""
    else:
        batch = ["B"] if "B" in of else []
        dims, weights = batch + ["M", "N", "K"], []
        shapes = [batch + (["K", "M"] if of["TA"] == "T" else ["M", "K"]), batch + (["N", "K"] if of["TB"] == "T" else ["K", "N"])]
        inputs = ", ".join(f"{name}: f32[{', '.join(shape)}]" for name, shape in zip("ab", shapes))
        result = ", ".join(batch + ["M", "N"])
        attributes = "".join(f" transpose_{side}=true" for side in "ab" if of[f"T{side.upper()}"] == "T")
    lines = ["dyn 1"] + [f"dim {name} in 0..1048576" for name in dims] + weights
    text = "\n".join(lines + [f"graph op({inputs}) -> (c: f32[{result}]) {{", f"  return matmul(a, b){attributes}", "}"]) + "\n"
    return text, [word for name in dims for word in ("--dims", f"{name}={of[name]}")]
