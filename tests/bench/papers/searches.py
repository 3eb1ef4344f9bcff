"""The section of the page that has dyn's own tuner beside dyn's choice."""

import re

import facts
import raw
from page_text import item, paragraph, ratio, table
from samples import geometric_mean, percentile

NEAR = 1.03  # a choice that takes at most this many times the tuned best is no miss
UNEXPLAINED = "not explained yet"
INTRODUCTION = ("The time of dyn's choice over that of the best program that `dynrun tune` found, and at least 1, as dyn's own is among those. On a CPU both were measured again after "
                "the search, in runs of their own. On described GPUs both are predicted: the ratio says what dyn's rules leave out of what dyn's model prefers, and nothing about the model.")


class Problem:
    """One line of a search: `gain` is dyn's time over the tuned best."""

    def __init__(self, setting, workload, row, place):
        self.setting, self.workload, self.row = setting, workload, row
        self.name = f"{workload}/{row['problem']}"
        self.gain = raw.search_gain(row, place)
        self.tried = int(row["tried"])

    def is_near(self):
        return self.gain <= NEAR


class Searches:
    """`measured`: (setting, workload, raw) of each search, the settings in their order; `rules`: of rules.json."""

    def __init__(self, settings, workloads, measured, rules):
        self.settings, self.workloads, self.rules = settings, workloads, rules
        self.files = [(setting, workload, result, [Problem(setting, workload, row, f"{setting}.{workload}.search.csv") for row in result.rows])
                      for setting, workload, result in measured]
        self.problems = [problem for *_, problems in self.files for problem in problems]

    def rule_of(self, problem):
        """The index of the first entry of rules.json that matches, or None."""
        for index, rule in enumerate(self.rules):
            if problem.setting in rule["match"]["settings"] and re.fullmatch(rule["match"]["problem"], problem.name):
                return index
        return None

    def idle_rules(self):
        """Entries of rules.json that are the first match of no problem, in words, for each of their settings that has results."""
        used = {(self.rule_of(problem), problem.setting) for problem in self.problems}
        measured = {problem.setting for problem in self.problems}
        return [f"rules.json[{index}]: {rule['match']['problem']} is the first match of no problem that was searched on {setting}: correct or delete it"
                for index, rule in enumerate(self.rules) for setting in rule["match"]["settings"] if setting in measured and (index, setting) not in used]

    def sums(self, title, setting, size, problems):
        gains = [problem.gain for problem in problems]
        near = sum(problem.is_near() for problem in problems)
        return [title, self.settings[setting]["title"], size, f"{percentile([problem.tried for problem in problems], 50):g}", ratio(geometric_mean(gains)), ratio(max(gains)),
                f"{100 * near / len(gains):.1f} %"]

    # Problems for which there is one program alone have no line.
    def size(self, result, size_of):
        alone = int(result.head["sample"].split()[0]) - len(result.rows)
        return size_of(result) + (f", {alone} with one program" if alone > 0 else "")

    def overview(self, size_of):
        rows, suites = [], []
        for setting in self.settings:
            of_setting = [one for one in self.files if one[0] == setting]
            if not of_setting:
                continue
            rows += [self.sums(self.workloads[workload]["title"], setting, self.size(result, size_of), problems) for _, workload, result, problems in of_setting]
            whole = [problem for *_, problems in of_setting for problem in problems]
            rows.append(self.sums("**all**", setting, len(whole), whole))
            near = sum(geometric_mean([problem.gain for problem in problems]) <= NEAR for *_, problems in of_setting)
            suites.append(item(f"{self.settings[setting]['title']}: the mean is within 3 % on {near} of {len(of_setting)} suites."))
        columns = ["shapes of", "on", "problems", "programs tried", "dyn's time over the tuned best, mean", "worst", "within 3 %"]
        return [table(columns, rows, range(2, len(columns))), "\n".join(suites)]

    def missed(self):
        beyond = sorted((problem for problem in self.problems if not problem.is_near()), key=lambda problem: (list(self.settings).index(problem.setting), -problem.gain))
        if not beyond:
            return ["dyn's choice is within 3 % of the tuned best at every problem."]
        of = {problem: self.rule_of(problem) for problem in beyond}
        rows = [[self.settings[problem.setting]["title"], self.workloads[problem.workload]["title"], problem.row["problem"], ratio(problem.gain), problem.row["dyn"], problem.row["best"],
                 self.rules[of[problem]]["rule"] if of[problem] is not None else UNEXPLAINED] for problem in beyond]
        unexplained = sum(index is None for index in of.values())
        text = paragraph(f"Problems at which dyn's choice takes more than 3 % longer than the tuned best: {len(beyond)} of {len(self.problems)}; {unexplained} {UNEXPLAINED}.")
        return [text, table(["on", "shapes of", "problem", "ratio", "dyn's program", "the tuner's program", "rule that missed it"], rows, [3])]

    # What became of each rule that is named.
    def mended(self):
        rows = []
        for index, rule in enumerate(self.rules):
            matched = [problem for problem in self.problems if self.rule_of(problem) == index]
            if matched:
                rows.append([rule["rule"], rule["mended"], len(matched), sum(not problem.is_near() for problem in matched)])
        return [table(["rule that missed programs", "mended", "problems", "beyond 3 %"], rows, [2, 3])] if rows else []

    def text(self, size_of):
        """Parts of the page below its heading. `size_of(result)`: problems searched of those that the workload has."""
        if not self.problems:
            return ["Nothing was searched."]
        return [paragraph(INTRODUCTION), *self.overview(size_of), *self.missed(), *self.mended()]
