"""Measures what the page needs with dynrun, in pieces that are kept, so that a stopped run goes on."""

import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import cases
import facts
import raw

PREDICTED_CHUNK = 1024  # shapes of one command on a described GPU: a few tens of milliseconds each
POLICY_LIST = ",".join(raw.POLICIES + ["oracle"])

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


class Measurer:
    """`options`: those of make_page.py."""

    def __init__(self, options):
        self.options = options
        self.work = options.work
        self.failures = []
        self.program = program_stamp(options.dynrun)

    # One dynrun, unless its output is kept from an earlier run.
    def output(self, words, files=(), turn=0):
        key = hashlib.sha256(json.dumps([self.program, turn, words, [[name, text] for name, text in files]]).encode()).hexdigest()[:24]
        kept = self.work / f"{key}.out"
        if kept.exists():
            return kept.read_text(), (self.work / f"{key}.err").read_text()
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files:
                (pathlib.Path(folder) / name).write_text(text)
            command = [str(self.options.dynrun)] + [word.replace("FOLDER/", f"{folder}/") for word in words]
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failed(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
        self.work.mkdir(parents=True, exist_ok=True)
        (self.work / f"{key}.err").write_text(done.stderr)
        part = kept.with_suffix(".part")
        part.write_text(done.stdout)
        part.rename(kept)
        return done.stdout, done.stderr

    def head(self, command, sample=None):
        text = ""
        if sample:
            text = f"{len(sample.cases)} of {sample.whole} shapes"
            if len(sample.cases) + sample.left_out < sample.whole:
                text += f", drawn with seed {self.options.seed}"
            if sample.left_out:
                text += f"; {sample.left_out} have more than {self.options.most_gflop:g} GFLOP"
        return {"date": datetime.date.today().isoformat(), "machine": machine_text(), "revision": revision_text(),
                "command": command, "sample": text, "note": self.options.note}

    def write(self, setting, workload, kind, head, rows):
        path = raw.path_of(self.options.results, setting, workload, kind)
        self.options.results.mkdir(parents=True, exist_ok=True)
        path.write_text(raw.Raw(head, rows).text())

    def is_done(self, setting, workload, kind, command, sample):
        """Whether the results hold this already; another sample or other flags are measured anew."""
        old = raw.read(self.options.results, setting, workload, kind)
        return old is not None and "failed" not in old.head and old.head.get("command") == command and old.head.get("sample", "") == (sample or "")

    # Runs a command for each chunk of the sample. `base`: its words but for the problems. Returns stdout of all, and the last stderr.
    def over(self, sample, workload, base, op_word):
        texts, error, size = [], "", PREDICTED_CHUNK if "--gpu" in base else self.options.chunk
        for number, chunk in enumerate(cases.chunks_of(sample.cases, size)):
            if number > 0:
                print(f"  {number * size} of {len(sample.cases)}", file=sys.stderr, flush=True)
            if chunk[0].suite is None:
                words = [base[0], workload["op"], workload["types"], "--dims", f"{workload['dim']}={','.join(case.line for case in chunk)}"]
                for attribute in workload.get("attributes", []):
                    words += ["--attr", attribute]
                files = []
            else:
                name = f"{chunk[0].suite}.txt"
                files = [(name, "\n".join([chunk[0].header] + [case.line for case in chunk]) + "\n")]
                words = [base[0]] + ([op_of(workload, chunk[0]), "--suite"] if op_word else []) + [f"FOLDER/{name}"]
            text, error = self.output(words + base[1:], files)
            texts.append(text)
        return texts, error

    def flags_of(self, setting):
        if setting["device"] == "cpu":
            return ["--threads", str(setting["threads"])]
        return ["--device", "cuda", "--gpu", setting["gpu"], "--precision", setting["precision"]]

    def words_of(self, workload):
        if "types" in workload:
            words = f"{workload['op']} \"{workload['types']}\" --dims {workload['dim']}={workload['values']}"
            return words + "".join(f" --attr {attribute}" for attribute in workload.get("attributes", []))
        return " ".join(f"tests/bench/suites/{path.name}" for path in facts.suite_files(workload))

    def sample_of(self, name, workload, setting):
        options = self.options
        if setting["device"] == "cpu":
            return cases.sample(name, workload, options.most_shapes, options.most_gflop, options.seed)
        return cases.sample(name, workload, options.most_predicted, None, options.seed)

    def choices(self, name, workload, setting_name, setting):
        sample = self.sample_of(name, workload, setting)
        measured = setting["device"] == "cpu"
        flags = self.flags_of(setting) + (["--rounds", str(self.options.rounds), "--slice-ms", f"{self.options.slice_ms:g}"] if measured else [])
        command = " ".join(["dynrun select", self.words_of(workload)] + flags)
        head = self.head(command, sample)
        if not sample.cases or self.is_done(setting_name, name, "select", command, head["sample"]):
            return
        print(f"{setting_name} {name}: choices, {head['sample']}", file=sys.stderr, flush=True)
        try:
            texts, _ = self.over(sample, workload, ["select", "--policies", POLICY_LIST, "--format", "csv"] + flags, False)
        except Failed as error:
            self.write(setting_name, name, "select", head | {"failed": str(error).removeprefix("dynrun: error: ")}, [])
            raise
        self.write(setting_name, name, "select", head, [row for text in texts for row in raw.choices(text)])

    def peers(self, name, workload, setting_name, setting):
        if setting["device"] != "cpu" or not self.options.peers:
            return
        sample = self.sample_of(name, workload, setting)
        names = ",".join(peer.split("=")[0] for peer in self.options.peers.split(","))
        flags = self.flags_of(setting) + ["--rounds", str(self.options.rounds), "--slice-ms", f"{self.options.slice_ms:g}"]
        if not sample.cases:
            return
        command = " ".join([f"dynrun op {op_of(workload, sample.cases[0])} --suite" if "suites" in workload else "dynrun op", self.words_of(workload)] +
                           flags + ["--peers", names])
        head = self.head(command, sample)
        if self.is_done(setting_name, name, "op", command, head["sample"]):
            return
        print(f"{setting_name} {name}: peers, {head['sample']}", file=sys.stderr, flush=True)
        texts, error = self.over(sample, workload, ["op", "--peers", self.options.peers, "--format", "csv"] + flags, True)
        head["peers"] = "; ".join(sorted(set(re.findall(r"^dynrun: peer (\w+: .*)$", error, re.MULTILINE))))
        self.write(setting_name, name, "op", head, [row for text in texts for row in raw.peers(text)])

    # What the emulator counts of each policy's program, beside what is predicted of it.
    def counters(self, name, workload, setting_name, setting):
        if setting_name not in workload.get("counters", []):
            return
        flags = ["--gpu", setting["gpu"], "--precision", setting["precision"]]
        values = ",".join(map(str, workload["counted"]))
        command = f"dynrun explain MODEL --dims {workload['dim']}={values} --device emulator {' '.join(flags)} --counters --policy POLICY"
        if self.is_done(setting_name, name, "counters", command, None):
            return
        print(f"{setting_name} {name}: counters", file=sys.stderr, flush=True)
        words = ["select", workload["op"], workload["types"], "--dims", f"{workload['dim']}={values}", "--policies", POLICY_LIST, "--format", "csv"]
        for attribute in workload.get("attributes", []):
            words += ["--attr", attribute]
        predicted = raw.choices(self.output(words + self.flags_of(setting))[0])
        rows = []
        for value, of_shape in zip(workload["counted"], predicted):
            for policy in raw.POLICIES[:-1]:
                text, _ = self.output(["explain", "FOLDER/op.dyn", "--dims", f"{workload['dim']}={value}", "--device", "emulator", *flags,
                                       "--counters", "--policy", policy, "--format", "csv"], [("op.dyn", model_text(workload))])
                counted = raw.parse(text).rows[0]
                rows.append({"shape": of_shape["shape"], "policy": policy, "predicted_us": f"{float(of_shape[f'{policy}_ns']) / 1e3:.4g}",
                             "least_us": counted["least us"], "bound": counted["bound"], "blocks": counted["blocks"],
                             "instructions": counted["instructions"], "multiply": counted["multiply"], "wavefronts": counted["wavefronts"],
                             "sectors": counted["sectors"], "touched": counted["touched"]})
        self.write(setting_name, name, "counters", self.head(command), rows)

    # Loads with nothing kept from before: measuring the machine, making programs, compiling.
    def build(self, item, setting_name, setting):
        command = f"dynrun bench {item.get('model', item['id'] + '.dyn')} --load-only --random-weights --policy POLICY --cache-dir EMPTY {' '.join(self.flags_of(setting))}"
        if self.is_done(setting_name, item["id"], "build", command, None):
            return
        print(f"{setting_name} {item['id']}: build", file=sys.stderr, flush=True)
        rows = []
        for policy in raw.POLICIES[:-1]:
            model = str(facts.ROOT / "examples" / "models" / item["model"]) if "model" in item else "FOLDER/op.dyn"
            files = [] if "model" in item else [("op.dyn", "\n".join(item["text"]) + "\n")]
            text, _ = self.output(["bench", model, "--load-only", "--random-weights", "--policy", policy, "--cache-dir", "FOLDER/cache",
                                   "--format", "csv"] + self.flags_of(setting), files)
            load = raw.parse(text).rows[0]
            rows.append({"policy": policy} | {column: shortened_or_zero(load[column]) for column in
                                              ("total_ms", "machine_ms", "measure_ms", "compile_ms", "kernels", "compiled")})
        self.write(setting_name, item["id"], "build", self.head(command), rows)

    # Whole models by each policy in turn, twice; the lesser median counts.
    def models(self, item, setting_name, setting):
        sample = cases.sample(item["id"], item | {"types": ""}, self.options.most_shapes, None, self.options.seed)
        dims = [word for text in item["fixed"] for word in ("--dims", text)] + ["--dims", f"{item['dim']}={','.join(case.line for case in sample.cases)}"]
        words = ["bench", str(facts.ROOT / "examples" / "models" / item["model"]), "--random-weights", "--skip-load", "--duration", "0.5", "--format", "csv"]
        words += dims + self.flags_of(setting)
        command = " ".join(["dynrun bench", f"examples/models/{item['model']}", "--random-weights --skip-load --duration 0.5"] + dims + self.flags_of(setting) + ["--policy POLICY"])
        head = self.head(command, sample)
        if self.is_done(setting_name, item["id"], "model", command, head["sample"]):
            return
        print(f"{setting_name} {item['id']}: whole model", file=sys.stderr, flush=True)
        least = {}
        for turn in range(2):
            for policy in raw.POLICIES[:-1]:
                text, _ = self.output(words + ["--policy", policy], turn=turn)
                for row in raw.parse(text).rows:
                    key = (row[item["dim"]], policy)
                    least[key] = min(least.get(key, float("inf")), float(row["median_ms"]))
        rows = [{"shape": f"{item['dim']}={case.line}"} | {f"{policy}_ms": f"{least[case.line, policy]:.4g}" for policy in raw.POLICIES[:-1]}
                for case in sample.cases]
        self.write(setting_name, item["id"], "model", head, rows)

    # Counts of shapes for which each policy has a program; on a CPU each ran, and its result was compared.
    def valid(self, item, setting_name, setting):
        workload = {"op": item["op"], "types": item["types"][setting_name], "dim": item["dim"], "values": item["values"]}
        measured = setting["device"] == "cpu"
        sample = cases.sample("valid", workload, self.options.most_valid if measured else None, None, self.options.seed)
        flags = self.flags_of(setting) + (["--rounds", "2", "--slice-ms", "0.01"] if measured else [])
        command = " ".join(["dynrun select", self.words_of(workload)] + flags)
        head = self.head(command, sample)
        if self.is_done(setting_name, "valid", "valid", command, head["sample"]):
            return
        print(f"{setting_name} valid: {head['sample']}", file=sys.stderr, flush=True)
        policies = raw.POLICIES[:-1]
        texts, _ = self.over(sample, workload, ["select", "--policies", ",".join(policies), "--format", "csv"] + flags, False)
        shapes = [row for text in texts for row in raw.choices(text)]
        rows = []
        for policy in policies:
            bad = [row["shape"] for row in shapes if not row[f"{policy}_ns"]]
            rows.append({"policy": policy, "shapes": len(shapes), "valid": len(shapes) - len(bad), "first_invalid": bad[0] if bad else ""})
        self.write(setting_name, "valid", "valid", head, rows)

    def step(self, name, setting_name, what, *arguments):
        try:
            what(*arguments)
        except Failed as error:
            self.failures.append(f"{setting_name} {name}: {error}")
            print(f"  failed: {error}", file=sys.stderr, flush=True)

    def all(self, data):
        for setting_name, setting in data["settings"].items():
            if self.options.settings and setting_name not in self.options.settings:
                continue
            for item in data["build"]:
                if setting_name in item["settings"]:
                    self.step(item["id"], setting_name, self.build, item, setting_name, setting)
            for name, workload in data["workloads"].items():
                if setting_name in workload["settings"]:
                    self.step(name, setting_name, self.choices, name, workload, setting_name, setting)
                    self.step(name, setting_name, self.peers, name, workload, setting_name, setting)
                    self.step(name, setting_name, self.counters, name, workload, setting_name, setting)
            for item in data["models"]:
                if setting_name in item["settings"]:
                    self.step(item["id"], setting_name, self.models, item, setting_name, setting)
            if setting_name in data["valid"]["settings"]:
                self.step("valid", setting_name, self.valid, data["valid"], setting_name, setting)
        return self.failures


def shortened_or_zero(text):
    return f"{float(text):.4g}" if text else ""


def model_text(workload):
    """A model of one product, for commands that take no types."""
    left, right = (re.search(r"\[(.*)\]", side).group(1).split(",") for side in workload["types"].split(" x "))
    transposed = "transpose_b=true" in workload.get("attributes", [])
    result = left[:-1] + [right[-2] if transposed else right[-1]]
    constant = " x const " in workload["types"]
    lines = ["dyn 1", f"dim {workload['dim']} in 0..1048576"]
    if constant:
        lines.append(f"weight b: f32[{', '.join(right)}] = random 1")
    inputs = f"a: f32[{', '.join(left)}]" + ("" if constant else f", b: f32[{', '.join(right)}]")
    lines.append(f"graph op({inputs}) -> (c: f32[{', '.join(result)}]) {{")
    lines.append("  return matmul(a, b)" + "".join(f" {attribute}" for attribute in workload.get("attributes", [])))
    return "\n".join(lines + ["}"]) + "\n"
