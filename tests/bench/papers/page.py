"""docs/papers.md from the facts and the raw results; no measuring here, and the same text for the same files."""

import itertools
import json
import os

import cases
import facts
import raw
import searches
from page_text import code, figure, item, paragraph, ratio, table, time_text
from samples import geometric_mean, number, percentile

LATENCY = facts.ROOT / "docs" / "data" / "bert_latency.json"
BEGIN, END = "<!-- papers: begin; written by tests/bench/papers/make_page.py -->", "<!-- papers: end -->"
KINDS = ["select", "tuned", "search", "op", "counters", "variants", "build", "model", "peer", "valid"]
NAMES = {"dyn": "dyn", "vortex": "Vortex", "mikpoly": "MikPoly", "ftuner": "FTuner", "tscompiler": "TSCompiler", "dietcode": "DietCode", "vendor": "oneDNN"}
UNITS = {"x": "×", "%": " %", "s": " s", "h": " h", "us": " µs", "shapes": " shapes", "programs": " programs", "points": " points"}


class Page:
    """`rules`: of rules.json."""

    def __init__(self, papers, data, folder, rules=()):
        self.papers, self.data, self.folder, self.rules = papers, data, folder, rules
        self.settings, self.workloads = data["settings"], data["workloads"]

    def raw(self, setting, workload, kind):
        return raw.read(self.folder, setting, workload, kind)

    # (setting, workload, raw) of all that was measured of one kind.
    def measured(self, kind, workloads):
        found = []
        for workload in workloads:
            for setting in self.settings:
                result = self.raw(setting, workload, kind)
                if result and result.rows:
                    found.append((setting, workload, result))
        return found

    def is_predicted(self, setting):
        return self.settings[setting]["device"] != "cpu"

    def size_of(self, result, count=None):
        """Shapes measured of those that the workload had then."""
        count, whole = count or len(result.rows), int(result.head["sample"].split(" of ")[1].split()[0])
        return f"{count} of {whole}" if count != whole else str(whole)

    # Means of every policy over the shapes of one file, or of all files of a setting.
    def overview_row(self, title, setting, shapes, rows):
        sums = {policy: raw.PolicySums(rows, policy) for policy in raw.POLICIES}
        means = {policy: geometric_mean(one.ratios) if one.ratios else None for policy, one in sums.items()}
        best = max(((means[policy], NAMES[policy]) for policy in raw.OF_PAPERS if means[policy] is not None), default=None)
        programs = [value for value in (number(row, "oracle_programs") for row in rows) if value]
        return [title, self.settings[setting]["title"], shapes, f"{percentile(programs, 50):g}" if programs else "",
                ratio(means["dyn"]) if means["dyn"] else "", ratio(percentile(sums["dyn"].ratios, 5)) if means["dyn"] else "",
                f"{ratio(best[0])} ({best[1]})" if best else ""] + [ratio(means[policy]) if means[policy] else "" for policy in raw.POLICIES[1:]]

    def overview(self):
        rows = []
        for setting in self.settings:
            of_setting = [(workload, result) for found, workload, result in self.measured("select", self.workloads) if found == setting]
            rows += [self.overview_row(self.workloads[workload]["title"], setting, self.size_of(result), result.rows) for workload, result in of_setting]
            if len(of_setting) > 1:
                whole = [row for _, result in of_setting for row in result.rows]
                rows.append(self.overview_row("**all**", setting, len(whole), whole))
        if not rows:
            return "Nothing is measured yet."
        columns = ["shapes of", "on", "shapes", "programs", "dyn", "dyn, 5th percentile", "best of the five"] + [NAMES[policy] for policy in raw.POLICIES[1:]]
        return table(columns, rows, range(2, len(columns)))

    def searches(self):
        return searches.Searches(self.settings, self.workloads, self.measured("search", self.workloads), self.rules)

    def claims(self, paper):
        rows = []
        for claim in paper["claims"]:
            mark = f" ([reading](#{self.anchor(paper, claim['reading'])}))" if "reading" in claim else ""
            rows.append([claim["what"], f"{figure(claim['value'])}{UNITS[claim['unit']]}", claim["where"] + mark])
        return table(["claim", "figure", "where"], rows, [1])

    def anchor(self, paper, reading):
        return f"{paper['policy']}-{reading}"

    def readings(self, paper):
        if not paper["readings"]:
            return ""
        lines = []
        for reading in paper["readings"]:
            mark = f"<a id=\"{self.anchor(paper, reading['id'])}\"></a>"
            lines.append(item(f"{mark}**{reading['where']}.** {reading['doubt']} *Taken:* {reading['taken']} *Why:* {reading['why']}"))
        return "### Doubtful figures\n\n" + "\n".join(lines)

    def choices_row(self, setting, workload, policy, result, mark):
        sums = raw.PolicySums(result.rows, policy)
        return [self.workloads[workload]["title"], self.settings[setting]["title"], self.size_of(result), NAMES[policy] + mark,
                ratio(geometric_mean(sums.ratios)), ratio(percentile(sums.ratios, 5)), ratio(min(sums.ratios)),
                f"{percentile(sums.programs, 50):g}", time_text(percentile(sums.choose_ns, 50)), f"{sums.valid} of {len(result.rows)}"]

    def choices(self, paper, workloads):
        rows = []
        for setting, workload, result in self.measured("select", workloads):
            shown = [("dyn", result, ""), (paper["policy"], result, "")] + ([] if self.is_predicted(setting) else [("vendor", result, "")])
            tuned = self.raw(setting, workload, "tuned")
            if tuned and tuned.rows:
                shown.insert(2, (self.workloads[workload]["tuned"], tuned, ", tuned"))
            rows += [self.choices_row(setting, workload, *one) for one in shown if raw.PolicySums(one[1].rows, one[0]).ratios]
        if not rows:
            return ""
        columns = ["shapes of", "on", "shapes", "policy", "oracle ratio, mean", "5th percentile", "worst", "candidates", "choosing", "valid"]
        return table(columns, rows, [2, 4, 5, 6, 7, 8, 9])

    def baselines(self, workloads):
        rows = []
        for setting, workload, result in self.measured("op", workloads):
            for column in filter(lambda name: name.startswith("ratio_"), result.rows[0]):
                values = [value for value in (number(row, column) for row in result.rows) if value]
                if not values:
                    continue
                rows.append([self.workloads[workload]["title"], self.settings[setting]["title"], self.size_of(result, len(values)),
                             column.removeprefix("ratio_"), f"{100 * sum(value > 1 for value in values) / len(values):.1f} %",
                             f"{sum(values) / len(values):.2f}", f"{geometric_mean(values):.2f}", f"{min(values):.2f}", f"{max(values):.2f}"])
        if not rows:
            return ""
        columns = ["shapes of", "on", "shapes", "baseline", "dyn is faster", "speed-up, mean", "geometric mean", "least", "most"]
        return table(columns, rows, [2, 4, 5, 6, 7, 8])

    def counters(self, paper, workloads):
        rows = []
        for setting, workload, result in self.measured("counters", workloads):
            for row in result.rows:
                if row["policy"] in ("dyn", paper["policy"]):
                    rows.append([self.workloads[workload]["title"], row["shape"], self.settings[setting]["title"].split(",")[0] + ", " + self.settings[setting]["precision"],
                                 NAMES[row["policy"]], row["predicted_us"], row["least_us"], row["bound"], row["blocks"], row["multiply"],
                                 f"{int(row['sectors']) / int(row['touched']):.1f}"])
        if not rows:
            return ""
        columns = ["shapes of", "at", "on", "policy", "predicted, µs", "least by counters, µs", "bound by", "blocks", "multiply", "sectors per touched one"]
        return table(columns, rows, [4, 5, 7, 8, 9])

    # (model, setting, results) of one kind, of the models of a table.
    def of_models(self, kind, names):
        found = []
        for one in self.data["models"]:
            for setting in one["settings"] if one["id"] in names else []:
                result = self.raw(setting, one["id"], kind)
                if result and result.rows:
                    found.append((one, setting, result))
        return found

    def shapes_text(self, result):
        return f"{result.rows[0]['shape']} to {result.rows[-1]['shape']}, {self.size_of(result)}"

    def models(self, paper, names):
        rows = []
        for one, setting, result in self.of_models("model", names):
            gains = [float(row[f"{paper['policy']}_ms"]) / float(row["dyn_ms"]) for row in result.rows]
            times = [float(row["dyn_ms"]) for row in result.rows]
            rows.append([one["title"], self.settings[setting]["title"], self.shapes_text(result), f"{min(times):.1f} to {max(times):.1f} ms",
                         f"{geometric_mean(gains):.3f}", f"{min(gains):.3f}", f"{max(gains):.3f}"])
        if not rows:
            return ""
        return table(["model", "on", "shapes", "policy dyn", f"{NAMES[paper['policy']]}'s time over dyn's, geometric mean", "least", "most"], rows, [3, 4, 5, 6])

    def model_peers(self, names):
        rows = []
        for one, setting, result in self.of_models("peer", names):
            for column in filter(lambda name: name.startswith("ratio_"), result.rows[0]):
                values = [value for value in (number(row, column) for row in result.rows) if value]
                rows.append([one["title"], self.settings[setting]["title"], self.shapes_text(result), column.removeprefix("ratio_"), f"{sum(values) / len(values):.2f}",
                             f"{geometric_mean(values):.2f}", f"{min(values):.2f}", f"{max(values):.2f}"])
        if not rows:
            return ""
        return table(["model", "on", "shapes", "baseline", "speed-up of dyn, mean", "geometric mean", "least", "most"], rows, [4, 5, 6, 7])

    # Ranges of sizes and counts of suites, as papers describe their cases.
    def ranges_of_suites(self, names):
        whole = {name: cases.all_cases(self.workloads[name]) for name in names}
        columns = [column for column in next(iter(whole.values()))[0].header.split() if column not in ("TA", "TB")]
        rows = []
        for name, all_of in whole.items():
            of = [dict(case.sizes()) for case in all_of]
            ends = [(min(values), max(values)) for values in ([int(sizes[column]) for sizes in of] for column in columns)]
            rows.append([self.workloads[name]["title"]] + [str(least) if least == most else f"{least} to {most}" for least, most in ends] + [len(all_of)])
        return table(["suite", *columns, "cases"], rows, [len(columns) + 1])

    # The time of another policy over dyn's and the paper's, for ranges of one size.
    def by_range(self, paper, one):
        of, rows = one["ranges"], []
        for setting, workload, result in self.measured("select", one["workloads"]):
            for above, limit in itertools.pairwise(of["limits"]):
                inside = [row for row in result.rows if above < int(dict(word.split("=") for word in row["shape"].split())[of["size"]]) <= limit]
                gains = {policy: [theirs / own for theirs, own in ((number(row, f"{of['over']}_ns"), number(row, f"{policy}_ns")) for row in inside) if theirs and own]
                         for policy in ("dyn", paper["policy"])}
                if all(gains.values()):
                    rows.append([f"{above} to {limit}", self.settings[setting]["title"], len(inside)] + [f"{sum(values) / len(values):.2f}" for values in gains.values()])
        if not rows:
            return ""
        over = NAMES[of["over"]]
        return table([of["size"], "on", "shapes", f"mean speed-up of dyn over {over}", f"of {paper['name']} over {over}"], rows, [2, 3, 4])

    def variants(self, paper):
        if "variants" not in paper:
            return ""
        rows = []
        for setting in paper["variants"]["settings"]:
            result = self.raw(setting, paper["policy"], "variants")
            for policy in paper["variants"]["policies"] if result and result.rows else []:
                sums = raw.PolicySums(result.rows, policy)
                if sums.ratios:
                    rows.append([policy, self.settings[setting]["title"], self.size_of(result), ratio(geometric_mean(sums.ratios)), ratio(percentile(sums.ratios, 5)),
                                 f"{percentile(sums.programs, 50):g}", time_text(percentile(sums.choose_ns, 50))])
        text = paragraph(f"As in {paper['variants']['where']}: policies beside the best of all their own programs, shapes of {self.workloads[paper['variants']['workload']]['title']}.")
        body = table(["policy", "on", "shapes", "oracle ratio, mean", "5th percentile", "candidates", "choosing"], rows, [2, 3, 4, 5, 6]) if rows else "Not measured."
        return f"### {paper['name']}: variants by dyn\n\n{text}\n\n{body}"

    def build(self, paper):
        rows = []
        for item_ in self.data["build"]:
            for setting in item_["settings"]:
                result = self.raw(setting, item_["id"], "build")
                for row in result.rows if result else []:
                    if row["policy"] in ("dyn", paper["policy"]):
                        whole = float(row["total_ms"]) + float(row["machine_ms"])
                        rows.append([item_["title"], self.settings[setting]["title"], NAMES[row["policy"]], f"{whole / 1000:.2f} s",
                                     f"{(float(row['machine_ms']) + float(row['measure_ms'])) / 1000:.2f} s", f"{float(row['compile_ms']) / 1000:.2f} s",
                                     f"{float(row['compiled']):g}"])
        if not rows:
            return ""
        columns = ["model", "on", "policy", "build", "measuring the machine", "compiling", "kernels compiled"]
        return table(columns, rows, [3, 4, 5, 6])

    def valid(self):
        rows = []
        for setting in self.data["valid"]["settings"]:
            result = self.raw(setting, "valid", "valid")
            for row in result.rows if result else []:
                rows.append([self.data["valid"]["title"], self.data["valid"]["types"][setting], self.settings[setting]["title"], NAMES[row["policy"]],
                             f"{row['valid']} of {row['shapes']}", row["first_invalid"] or "none"])
        if not rows:
            return ""
        return table(["shapes", "operands", "on", "policy", "valid", "first without a program"], rows, [4])

    def whole_model(self):
        data = json.loads(LATENCY.read_text())
        rows = []
        for threads in sorted({row["threads"] for row in data["rows"]}):
            of = [row for row in data["rows"] if row["threads"] == threads and row["weights"] == "f32"]
            for peer in data["source"]["versions"]:
                ratios = [row["ms"][peer] / row["ms"]["dyn"] for row in of if peer in row["ms"]]
                lengths = sorted({row["S"] for row in of})
                rows.append([data["model"], f"{data['source']['machine']}, {threads} thread{'s' if threads > 1 else ''}", f"{lengths[0]} to {lengths[-1]}, {len(of)} lengths",
                             f"{peer} {data['source']['versions'][peer]}", f"{sum(ratios) / len(ratios):.2f}", f"{geometric_mean(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}"])
        source = paragraph(f"Measured on {data['source']['date']}, from [bert_latency.json](data/{LATENCY.name}); [performance.md](performance.md) has every length "
                           "and the command, [performance_cnn.md](performance_cnn.md) CNNs beside ONNX Runtime and oneDNN.")
        return table(["model", "on", "lengths", "baseline", "speed-up of dyn, mean", "geometric mean", "least", "most"], rows, [4, 5, 6, 7]) + "\n\n" + source

    def table_of(self, paper, one):
        parts = [f"### {paper['name']}: {one['title']}"]
        mark = f" A [doubtful figure](#{self.anchor(paper, one['reading'])}) is among them." if "reading" in one else ""
        parts.append(paragraph(f"Published ({one['where']}; {one['hardware']}).{mark}"))
        numbers = [index for index in range(len(one["columns"])) if all(isinstance(row[index], (int, float)) or row[index] in ("", "–") for row in one["rows"])]
        parts.append(table(one["columns"], [[figure(cell) for cell in row] for row in one["rows"]], numbers))
        if "beside" in one:
            parts.append(paragraph(one["beside"]))
        own = [("The suites of this repository:", self.ranges_of_suites(one["cases"]) if "cases" in one else ""),
               ("By dyn:", self.choices(paper, one["workloads"])), ("The same by ranges:", self.by_range(paper, one) if "ranges" in one else ""), ("Beside libraries of today, policy dyn:", self.baselines(one["workloads"])),
               ("By counters of the emulator, which give a least time, beside the predicted one:", self.counters(paper, one["workloads"]))]
        if "models" in one:
            own.append(("Whole models with random weights, by policy:", self.models(paper, one["models"])))
            own.append(("Whole models beside libraries of today, policy dyn:", self.model_peers(one["models"])))
        if one.get("build"):
            own.append(("Builds by dyn, with nothing kept from before:", self.build(paper)))
        if one.get("valid"):
            own.append(("Shapes that have a program, by dyn:", self.valid()))
        shown = [part for title, body in own if body for part in (title, body)]
        if "models" in one:
            shown.append("Libraries of today beside policy dyn: [a whole model](#a-whole-model-by-dyn).")
        missing = self.missing(one["workloads"], one.get("models", []))
        return parts + shown + ([missing] if missing else [])

    # What is not there, and why: one line for workloads that lack the same.
    def missing(self, workloads, models):
        lacking = {}
        wanted = [(name, self.workloads[name], "select") for name in workloads] + [(one["id"], one, "model") for one in self.data["models"] if one["id"] in models]
        for name, one, kind in wanted:
            reasons = {}
            for setting in one["settings"]:
                result = self.raw(setting, name, kind)
                if result is None or not result.rows:
                    reasons.setdefault(result.head.get("failed", "no results") if result else "not measured", []).append(self.settings[setting]["title"])
            for reason, titles in reasons.items():
                lacking.setdefault(f"{reason} ({'; '.join(titles)})", []).append(one["title"])
        return "Not there:\n\n" + "\n".join(item(f"{'; '.join(titles)}: {reason}.") for reason, titles in lacking.items()) if lacking else ""

    def method(self, paper):
        rows = []
        for element in paper["method"]:
            places = ", ".join(code(path) for pattern in element["dyn"] for path in facts.places_of(pattern))
            rows.append([element["what"], element["where"], element["status"], places, element.get("departure", ""), element.get("reason", "")])
        return table(["element", "where", "in dyn", "place", "departure", "reason"], rows)

    def counts(self, paper):
        statuses = [element["status"] for element in paper["method"]]
        return ", ".join(f"{statuses.count(status)} {status}" for status in ("as in the paper", "in part", "otherwise", "absent") if status in statuses)

    def paper(self, paper):
        parts = [f"## {paper['name']}", paragraph(paper["reference"]), paragraph(paper["idea"]), paragraph(f"Text read: {paper['text']}"),
                 f"### {paper['name']}: claims", self.claims(paper)]
        for one in paper["tables"]:
            parts += self.table_of(paper, one)
        parts.append(self.variants(paper))
        parts += [f"### {paper['name']}: method and departures", paragraph(f"{len(paper['method'])} elements: {self.counts(paper)}."), self.method(paper)]
        readings = self.readings(paper)
        return [part for part in parts if part] + ([readings.replace("### Doubtful", f"### {paper['name']}: doubtful", 1)] if readings else [])

    # Who measured what, when, where, how: a line for each file of results.
    def sources(self):
        found = []
        for setting in self.settings:
            for name in [*self.workloads, *(one["id"] for one in self.data["build"] + self.data["models"]), *self.papers, "valid"]:
                for kind in KINDS:
                    result = self.raw(setting, name, kind)
                    if result and result.rows and (setting, name, kind) not in {key for key, _ in found}:
                        found.append(((setting, name, kind), result))
        machines = {}
        for _, result in found:
            head = result.head
            machines.setdefault((head["date"], head["machine"], head["revision"], head.get("note", "")), []).append(head.get("peers", ""))
        parts = []
        for (date, machine, revision, note), peers in sorted(machines.items()):
            versions = sorted({one for text in peers for one in text.split("; ") if one})
            text = f"{date}, {machine}, revision {revision}" + (f"; {note}" if note else "") + (f". Peers: {', '.join(versions)}" if versions else "")
            parts.append(item(text.rstrip(".") + "."))
        rows = []
        for (setting, name, kind), result in found:
            path = raw.path_of(self.folder, setting, name, kind)
            rows.append([f"[{path.stem}]({os.path.relpath(path, facts.ROOT / 'docs')})", result.head["date"], result.head.get("sample", ""), f"`{result.head['command']}`"])
        if not rows:
            return "No raw results yet."
        return "\n".join(parts) + "\n\n" + table(["raw results", "date", "sample", "command"], rows)

    def text(self):
        parts = ["## Who chooses best, all suites", paragraph("Geometric means of the oracle's time over the policy's; 1 is the best program of all that any policy considers. *Programs* is the median of their number."),
                 self.overview(), "## The tuner beside dyn's choice", *self.searches().text(self.size_of)]
        for name in facts.PAPERS:
            parts += self.paper(self.papers[name])
        parts += ["## A whole model by dyn", self.whole_model(), "## Raw results", self.sources()]
        return "\n\n".join(part for part in parts if part)


def with_body(text, body, path):
    """The page with `body` between its markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise facts.BadFacts(f"{path}: the lines {BEGIN} and {END} must stand there once, in this order")
    return text[: text.index(BEGIN) + len(BEGIN)] + "\n\n" + body + "\n\n" + text[text.index(END):]
