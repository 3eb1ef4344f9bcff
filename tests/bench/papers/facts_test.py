#!/usr/bin/env python3
"""Breaks facts, samples and pages, and prints what nobody noticed; prints nothing where all is well."""

import argparse
import contextlib
import copy
import io
import pathlib
import sys
import tempfile
import unittest.mock

import cases
import facts
import measure
import make_page
import page
import raw

PROBLEMS = []


def expect(name, holds):
    if not holds:
        PROBLEMS.append(name)


def refused(name, part, change, check):
    """`change` breaks a copy of the facts of one paper (or of the workloads); the checks must refuse it with `part` of a message."""
    try:
        check(change)
    except facts.BadFacts as error:
        expect(f"{name}: refused with '{error}', which does not say '{part}'", part in str(error))
    else:
        PROBLEMS.append(f"{name}: not refused")


def check_papers_with(change):
    paper, data = copy.deepcopy(facts.read("vortex")), facts.read("workloads")
    change(paper)
    facts.validate(paper, facts.read("paper.schema"), "vortex.json")
    facts.check_paper("vortex", paper, data)


def check_workloads_with(change):
    data = copy.deepcopy(facts.read("workloads"))
    change(data)
    facts.validate(data, facts.read("workloads.schema"), "workloads.json")
    facts.check_workloads(data)


def check_suites_with(change):
    papers, data = {name: facts.read(name) for name in facts.PAPERS}, facts.read("workloads")
    change(papers, data)
    facts.check_suites(papers, data)


RULES = [
    {"match": {"settings": ["cpu-1"], "problem": "gemm-gnn/matmul M=1 .*"}, "rule": "the rule of one row", "mended": "more rows are looked at"},
    {"match": {"settings": ["cpu-1"], "problem": ".*/matmul M=[12] .*"}, "rule": "the rule of few rows", "mended": "nothing was done"},
]


def check_rules_with(change):
    rules = copy.deepcopy(RULES)
    change(rules)
    facts.validate(rules, facts.read("rules.schema"), "rules.json")
    facts.check_rules(rules, facts.read("workloads"))


def table_of(paper, name):
    return next(table for table in paper["tables"] if table["id"] == name)


def test_broken_facts():
    def of_paper(name, part, change):
        refused(name, part, change, check_papers_with)

    def of_workloads(name, part, change):
        refused(name, part, change, check_workloads_with)

    def of_suites(name, part, change):
        refused(name, part, change, check_suites_with)

    def of_rules(name, part, change):
        refused(name, part, change, check_rules_with)

    of_paper("a claim without a place", "claims[0]: has no where", lambda paper: paper["claims"][0].pop("where"))
    of_paper("a claim in words", "claims[1].value: \"much\" is no number", lambda paper: paper["claims"][1].update(value="much"))
    of_paper("a truth for a figure", "true is no number", lambda paper: paper["claims"][1].update(value=True))
    of_paper("an unknown unit", "is none of", lambda paper: paper["claims"][0].update(unit="miles"))
    of_paper("an unknown part", "guess is unknown", lambda paper: paper.update(guess=1))
    of_paper("two claims of one name", "more than once", lambda paper: paper["claims"].append(paper["claims"][0]))
    of_paper("a row that is too short", "has 4 cells, not 5", lambda paper: paper["tables"][0]["rows"][0].pop())
    of_paper("a reading that is not there", "there is no reading nothing", lambda paper: paper["tables"][0].update(reading="nothing"))
    of_paper("a workload that is not there", "there is no workload nothing", lambda paper: paper["tables"][0]["workloads"].append("nothing"))
    of_paper("a model that is not there", "there is no model nothing", lambda paper: paper["tables"][4].update(models=["nothing"]))
    of_workloads("a model without a file", "there is no examples/models/none.dyn", lambda data: data["models"][0].update(model="none.dyn"))
    of_paper("a departure that is none", "a departure is there where", lambda paper: paper["method"][0].update(departure="something", reason="none"))
    of_paper("a departure without a reason", "a departure has a reason", lambda paper: paper["method"][2].pop("reason"))
    of_paper("an element that is nowhere", "there is no src/nowhere.cpp", lambda paper: paper["method"][0].update(dyn=["src/nowhere.cpp"]))
    of_paper("an element without a place", "where dyn has it is missing", lambda paper: paper["method"][0].update(dyn=[]))
    of_workloads("a suite that is not there", "there is no suite nothing.txt", lambda data: data["workloads"]["gemm-gnn"].update(suite="nothing.txt"))
    of_workloads("a setting that is not there", "there is no setting moon", lambda data: data["workloads"]["gemm-gnn"].update(settings=["moon"]))
    of_workloads("a GPU without a description", "a device 'cuda' has a gpu", lambda data: data["settings"]["a100-f32"].pop("gpu"))
    of_workloads("a suite and types at once", "either a suite or types", lambda data: data["workloads"]["gemm-gnn"].update(types="f32[M,8] x f32[8,8]"))
    of_workloads("counters of a CPU", "counts for GPUs", lambda data: data["workloads"]["ftuner-dense"].update(counters=["cpu-1"]))
    of_workloads("counters of nothing", "counters and counted go together", lambda data: data["workloads"]["ftuner-dense"].pop("counted"))
    of_workloads("a build of a model that only papers have", "there is no examples/models/vgg11.dyn", lambda data: data["build"][3].update(model="vgg11.dyn"))
    of_paper("variants at no workload", "variants: there is no workload nothing", lambda paper: paper["variants"].update(workload="nothing"))
    of_paper("variants in no setting", "variants: there is no setting moon", lambda paper: paper["variants"].update(settings=["moon"]))
    of_suites("a suite without a workload", "0 workloads have the suite papers/ftuner-dense.txt", lambda papers, data: data["workloads"].pop("ftuner-dense"))
    of_suites("a suite in no table", "no table has the workload vortex-cnn", lambda papers, data: table_of(papers["vortex"], "operators")["workloads"].remove("vortex-cnn"))
    of_suites("a suite in another paper's table", "the workload vortex-cnn is vortex's", lambda papers, data: papers["ftuner"]["tables"][0]["workloads"].append("vortex-cnn"))
    of_rules("a rule that says nothing", "rules.json[1].rule: says nothing", lambda rules: rules[1].update(rule=""))
    of_rules("a rule without its mending", "rules.json[0]: has no mended", lambda rules: rules[0].pop("mended"))
    of_rules("a rule of nothing", "rules.json[0].match: has no problem", lambda rules: rules[0]["match"].pop("problem"))
    of_rules("a rule in no setting", "settings: has 0 items", lambda rules: rules[0]["match"].update(settings=[]))
    of_rules("a rule in a setting that is not there", "rules.json[1]: there is no setting moon", lambda rules: rules[1]["match"].update(settings=["moon"]))
    of_rules("a rule with a broken expression", "is no regular expression", lambda rules: rules[0]["match"].update(problem="M=(1"))
    refused("a counted shape that is in no suite", "has no shape 1 2 3", {"suite": "papers/ftuner-dense.txt", "counted": ["1 2 3"]}, cases.counted)
    refused("a keyword that nobody checks", "which nobody checks", {"maxLength": 1}, lambda schema: facts.validate("word", schema, "a schema"))


def test_samples():
    workload = facts.read("workloads")["workloads"]["gemm-deepbench"]

    def lines(*arguments):
        return [case.line for case in cases.sample("gemm-deepbench", workload, *arguments).cases]
    whole = lines(None, None, 1)
    expect("a sample is not drawn by its seed", lines(8, None, 1) == lines(8, None, 1) != lines(8, None, 2))
    expect("a sample is not of the workload's shapes, in their order", lines(8, None, 1) == [line for line in whole if line in lines(8, None, 1)])
    expect("a sample has another size", len(lines(8, None, 1)) == 8 and len(whole) == 84 and len(lines(500, None, 1)) == 84)
    small = cases.sample("gemm-deepbench", workload, None, 1, 1)
    expect("shapes of too many operations are not left out", all(case.flops <= 1e9 for case in small.cases) and len(small.cases) + small.left_out == small.whole == 84)
    by_size = sorted(case.flops for case in cases.sample("gemm-deepbench", workload, None, None, 1).cases)
    eighths = [by_size.index(case.flops) * 8 // len(by_size) for case in cases.sample("gemm-deepbench", workload, 8, None, 3).cases]
    expect("a sample lacks small shapes or large ones", sorted(eighths) == list(range(8)))
    expect("ranges are not read as dynrun reads them", cases.values_of("1..9+4,3,1..20*4") == [1, 5, 9, 3, 1, 4, 16] and cases.values_of("2..4") == [2, 3, 4])
    expect("operations of a product are wrong", cases.flops_of(["M", "N", "K", "TA", "TB"], ["3", "5", "7", "N", "T"]) == 2 * 3 * 5 * 7)
    conv = "N IC IH IW OC KH KW SH SW PT PL PB PR G".split()
    expect("operations of a convolution are wrong", cases.flops_of(conv, "2 4 9 9 6 3 3 2 2 1 1 1 1 2".split()) == 2 * 2 * 5 * 5 * 6 * 9 * 4 // 2)
    free = cases.all_cases({"suite": "conv-cnn.txt", "batches": "1,16"})
    expect("a free batch is not filled in", [case.line.split()[0] for case in free[:2]] == ["1", "16"] and free[1].flops == 16 * free[0].flops)
    lines = [" ".join(words) for words in cases.expanded("B M N TA".split(), "2,3 1..4*2 =M T".split())]
    expect("a line of ranges has other shapes", lines == ["2 1 1 T", "2 2 2 T", "2 4 4 T", "3 1 1 T", "3 2 2 T", "3 4 4 T"])
    counts = {name: len(cases.all_cases(one)) for name, one in facts.read("workloads")["workloads"].items()}
    expect("suites have other counts than the papers", [counts[name] for name in ("vortex-transformer", "vortex-conv-cnn", "mikpoly-conv", "mikpoly-lengths", "ftuner-dense")] ==
           [192, 584, 5485, 8192, 128])
    model = {"dims": {"N": "1,4", "H": "64..128+64", "W": "=H"}, "mflop": 0.5}
    shapes = cases.all_cases(model)
    expect("shapes of a model are wrong", [case.text() for case in shapes] == ["N=1 H=64 W=64", "N=1 H=128 W=128", "N=4 H=64 W=64", "N=4 H=128 W=128"] and shapes[3].flops == 0.5e6 * 4 * 128 * 128)
    runs = cases.alike_but_one(cases.all_cases({"dims": {"B": "1,2", "S": "3,5,7"}, "mflop": 1}))
    expect("shapes are listed that differ in two sizes", [[case.line for case in run] for run in runs] == [["1 3", "1 5", "1 7"], ["2 3", "2 5", "2 7"]])
    chunks = cases.chunks_of(free[:5], 2)
    expect("chunks lose or repeat shapes", [len(chunk) for chunk in chunks] == [2, 2, 1] and [case for chunk in chunks for case in chunk] == free[:5])


SELECTED = '''shape,policy,candidates,program,predicted_ns,measured_ns,choose_ns
M=1 N=2 K=3 threads=1,dyn,20,"one, two",50,50.00001,700
M=1 N=2 K=3 threads=1,vortex,8,three,90,100,30
M=1 N=2 K=3 threads=1,oracle,21,"one, two",,40,
M=1 N=2 K=3 threads=1,dyn,20,"one, two",50,80,900
M=1 N=2 K=3 threads=1,vortex,0,none: reason,,,
M=1 N=2 K=3 threads=1,oracle,21,"one, two",,80,
# summary=dyn threads=1 shapes=2
'''


TIMED = """op,suite,M,N,K,threads,device,state,median_ms,p95_ms,gflops,gb_per_s,intensity,limit_ms,limit_ratio,ratio_onednn,ratio_blis,ratio_best
matmul,gemm-gnn,1,2,3,1,cpu/avx2,warm,0.5,0.6,1,2,3,0.4,0.8,2,,2
matmul,gemm-gnn,1,2,4,1,cpu/avx2,warm,0.5,0.6,1,2,3,0.4,0.8,0.5,,0.5
# summary=limit_ratio
"""


def test_results():
    rows = raw.choices(SELECTED)
    expect("shapes of the same sizes became one", len(rows) == 2 and rows[0]["shape"] == "M=1 N=2 K=3" and rows[0]["dyn_ns"] == "50")
    result = raw.parse(raw.Raw({"command": "a=b", "note": ""}, rows).text())
    expect("raw results change as they are kept", result.rows == rows and result.head == {"command": "a=b"})
    dyn, vortex = raw.PolicySums(result.rows, "dyn"), raw.PolicySums(result.rows, "vortex")
    expect("ratios are not the oracle's time over the policy's", dyn.ratios == [0.8, 1.0] and vortex.ratios == [0.4])
    expect("a shape without a program counts as valid", (dyn.valid, vortex.valid, vortex.shapes) == (2, 1, 2) and vortex.programs == [8.0])


RANGED = [{"shape": f"M={m} N=768 K=2304", "dyn_ns": dyn, "vortex_ns": vortex, "dietcode_ns": dietcode, "oracle_ns": 1, "oracle_programs": 9,
           "vortex_programs": 4, "dyn_programs": 5, "vortex_choose_ns": 7, "dyn_choose_ns": 8}
          for m, dyn, vortex, dietcode in ((1, 2, 2, 2), (128, 2, 8 / 3, 4), (129, 1, 6, 3))]


def test_page():
    papers, data = facts.load()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        empty = page.Page(papers, data, folder).text()
        expect("a page without results does not say so", "not measured (CPU, 1 thread" in empty and "No raw results yet." in empty)
        expect("the ranges of suites are wrong", "| Vortex, GEMM of graph networks | 2708 to 1888584 | 2 to 121 | 8 to 3703 | 150 |" in empty)
        head = {"date": "2026-01-02", "machine": "a machine", "revision": "abc", "command": "dynrun select x", "sample": "2 of 38 shapes, drawn with seed 1"}
        raw.path_of(folder, "cpu-1", "vortex-gnn", "select").write_text(raw.Raw(head, raw.choices(SELECTED)).text())
        text = page.Page(papers, data, folder).text()
        expect("a page lacks the ratio, the sample or the count of valid shapes", "| 2 of 38 | Vortex | 0.400 |" in text and "| 1 of 2 |" in text)
        expect("a page does not repeat itself", text == page.Page(papers, data, folder).text())
        expect("the overview is wrong", "| Vortex, GEMM of graph networks | CPU, 1 thread | 2 of 38 | 21 | 0.894 | 0.810 | 0.400 (Vortex) | 0.400 |  |" in text and "**all**" not in text)
        raw.path_of(folder, "cpu-1", "gemm-cnn", "select").write_text(raw.Raw(head, raw.choices(SELECTED)).text())
        expect("the overview of all is wrong", "| **all** | CPU, 1 thread | 4 | 21 | 0.894 |" in page.Page(papers, data, folder).text())
        raw.path_of(folder, "cpu-1", "vortex-gnn", "op").write_text(raw.Raw(head, raw.peers(TIMED)).text())
        expect("a page lacks the ratios to libraries", "| 2 of 38 | onednn | 50.0 % | 1.25 | 1.00 | 0.50 | 2.00 |" in page.Page(papers, data, folder).text())
        for kind in ("select", "tuned"):
            raw.path_of(folder, "cpu-1", "dietcode-dense", kind).write_text(raw.Raw(head | {"sample": "2 of 8 shapes"}, raw.choices(SELECTED.replace("vortex", "dietcode").replace(",100,30", ",100,30" if kind == "select" else ",50,30"))).text())
        text = page.Page(papers, data, folder).text()
        expect("a tuned policy does not stand beside itself", "| CPU, 1 thread | 2 of 8 | DietCode | 0.400 |" in text and "| CPU, 1 thread | 2 of 8 | DietCode, tuned | 0.800 |" in text)
        raw.path_of(folder, "cpu-1", "vortex-lengths", "select").write_text(raw.Raw(head, RANGED).text())
        expect("ranges of a size are wrong", "| 0 to 128 | CPU, 1 thread | 2 | 1.50 | 1.25 |\n| 128 to 256 | CPU, 1 thread | 1 | 3.00 | 0.50 |" in page.Page(papers, data, folder).text())
        raw.path_of(folder, "cpu-1", "mikpoly", "variants").write_text(raw.Raw(head, raw.choices(SELECTED.replace("vortex", "mikpoly-wave"))).text())
        expect("variants are not there", "| mikpoly-wave | CPU, 1 thread | 2 of 38 | 0.400 |" in page.Page(papers, data, folder).text())
        runs = [{"shape": f"N={n} H=64 W=64", "dyn_ms": "2", "mikpoly_ms": str(ms), "ratio_pytorch": str(ms / 4)} for n, ms in ((1, 3), (8, 12))]
        for kind in ("model", "peer"):
            raw.path_of(folder, "cpu-2", "mikpoly-alexnet", kind).write_text(raw.Raw(head | {"sample": "2 of 80 shapes"}, runs).text())
        text = page.Page(papers, data, folder).text()
        expect("a model's times are not there", "| AlexNet | CPU, 2 threads | N=1 H=64 W=64 to N=8 H=64 W=64, 2 of 80 | 2.0 to 2.0 ms | 3.000 | 1.500 | 6.000 |" in text)
        expect("a model lacks libraries", "| AlexNet | CPU, 2 threads | N=1 H=64 W=64 to N=8 H=64 W=64, 2 of 80 | pytorch | 1.88 | 1.50 | 0.75 | 3.00 |" in text)
        papers["vortex"]["claims"][0]["value"] = facts.Printed("2.54")
        expect("a changed figure leaves the page as it was", page.Page(papers, data, folder).text() != text)
    expect("a figure is not shown as it is printed", "| 10.30 |" in empty and "| 1.70 |" in empty)
    try:
        page.with_body("no markers", "body", "a page")
        PROBLEMS.append("a page without markers is written")
    except facts.BadFacts:
        pass


SEARCHED = """problem,threads,tried,seconds,times,dyn_us,best_us,dyn_over_best,kept,dyn,best
matmul M=1 N=2 K=3,1,200,1.5,measured,10,8,1.25000001,yes,"own, of one","found, of one"
matmul M=2 N=2 K=3,1,100,1.5,measured,8,10,0.8,no,own,found
matmul M=3 N=2 K=3,1,200,1.5,measured,10,9.9,1.01,no,own,found
matmul M=4 N=2 K=3,1,200,1.5,measured,10,9.615,1.04,yes,own of four,found for four
"""


def test_searches():
    papers, data = facts.load()
    head = {"date": "2026-01-02", "machine": "a machine", "revision": "abc", "command": "dynrun tune x", "sample": "5 of 38 shapes, drawn with seed 1"}
    title, suite = "The tuner beside dyn's choice", "dyn's suite, GEMM of graph networks"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def put(setting, workload, text, sample):
            raw.path_of(folder, setting, workload, "search").write_text(raw.Raw(head | {"sample": sample}, raw.searches(text)).text())

        def section(rules):
            return page.Page(papers, data, folder, rules).text().split(f"## {title}\n")[1].split("\n## ")[0]

        def idle(rules):
            return page.Page(papers, data, folder, rules).searches().idle_rules()
        expect("a page without searches does not say so", section(RULES).strip() == "Nothing was searched." and idle(RULES) == [])
        put("cpu-1", "gemm-gnn", SEARCHED, "5 of 38 shapes, drawn with seed 1")
        text = section([])
        expect("a suite that was searched has other figures", f"| {suite} | CPU, 1 thread | 4 of 38, 1 with one program | 200 | 1.070 | 1.250 | 50.0 % |" in text)
        expect("a search that kept nothing is no miss, or one that kept something is none", "3 % longer than the tuned best: 2 of 4; 2 not\nexplained yet." in text)
        expect("a missed problem lacks its programs, or has a rule that nobody gave",
               f"| CPU, 1 thread | {suite} | matmul M=1 N=2 K=3 | 1.250 | own, of one | found, of one | not explained yet |\n| CPU, 1 thread | {suite} | matmul M=4 N=2 K=3 | 1.040 |" in text)
        put("cpu-1", "gemm-cnn", "\n".join(SEARCHED.splitlines()[:3]), "2 of 102 shapes, drawn with seed 1")
        put("a100-f32", "gemm-cnn", "\n".join(SEARCHED.splitlines()[0:4:3]), "1 of 102 shapes, drawn with seed 1")
        text = section(RULES)
        expect("the totals of a setting are wrong", "| **all** | CPU, 1 thread | 6 | 200 | 1.086 | 1.250 | 50.0 % |" in text and "| **all** | A100, f32, predicted | 1 | 200 | 1.010 | 1.010 | 100.0 % |" in text)
        expect("suites are counted wrongly", "- CPU, 1 thread: the mean is within 3 % on 0 of 2 suites.\n- A100, f32, predicted: the mean is within 3 % on 1 of 1 suites." in text)
        expect("a missed problem does not have the first rule that matches", "2 K=3 | 1.250 | own, of one | found, of one | the rule of one row |" in text and
               "| dyn's suite, GEMM of CNNs | matmul M=1 N=2 K=3 | 1.250 | own, of one | found, of one | the rule of few rows |" in text)
        expect("what nobody explained is not counted", "3 of 7; 1 not\nexplained yet." in text and "| own of four | found for four | not explained yet |" in text)
        expect("what became of rules is not there", "| the rule of one row | more rows are looked at | 1 | 1 |\n| the rule of few rows | nothing was done | 3 | 1 |" in text)
        late = {"match": {"settings": ["cpu-1", "cpu-2"], "problem": "gemm-cnn/matmul M=2 .*"}, "rule": "too late", "mended": "nothing was done"}
        other = late | {"match": {"settings": ["cpu-2"], "problem": ".*"}}
        expect("a rule of another setting counts", section([other, *RULES]) == text)
        part = late | {"match": {"settings": ["cpu-1"], "problem": "matmul M=4"}}
        expect("a rule that matches nothing is not named", idle(RULES) == [] and [text.split(":")[0] for text in idle([*RULES, late, part])] == ["rules.json[2]", "rules.json[3]"])
        expect("a rule for a setting without results is refused", idle([other]) == [])
        expect("--check takes a rule that matches nothing", checked(folder, RULES) == (0, "") and checked(folder, [*RULES, part])[0] == 1)
        put("cpu-1", "gemm-cnn", SEARCHED.replace("10,8,1.25000001,yes", ",,,no"), "5 of 102 shapes")
        refused("a search without a figure", "cpu-1.gemm-cnn.search.csv: matmul M=1 N=2 K=3", [], section)


def checked(folder, rules):
    """The exit code of make_page.py --check for a page that was made of the same, and what it printed."""
    path, said = folder / "page.md", io.StringIO()
    path.write_text(f"{page.BEGIN}\n{page.END}\n")
    with unittest.mock.patch.object(facts, "load_rules", lambda data: rules), contextlib.redirect_stdout(said):
        for flags in ([], ["--check"]):
            with unittest.mock.patch.object(sys, "argv", ["make_page.py", "--page", str(path), "--results", str(folder), *flags]):
                code = make_page.main()
    return code, said.getvalue()


FAKE = """#!/usr/bin/env bash
echo "$1" >>"$0.log"
[ ! -e "$0.fail" ] || { echo "dynrun: error: it is broken" >&2; exit 1; }
if [ "$1" = tune ]; then
  echo problem,threads,tried,seconds,times,dyn_us,best_us,dyn_over_best,kept,dyn,best
  sed 1d "$2" | while read -r m n k _; do echo "matmul M=$m N=$n K=$k,1,20,1,measured,5,4,1.25,yes,own,found"; done
  [ ! -e "$0.stop" ] || echo "stopped by a signal; the same command goes on from 'found.json'" >&2
  exit 0
fi
echo shape,policy,candidates,program,predicted_ns,measured_ns,choose_ns
sed 1d "$2" | while read -r m n k _; do
  echo "M=$m N=$n K=$k threads=1,dyn,3,words,5,6,7"
  echo "M=$m N=$n K=$k threads=1,oracle,3,words,,6,"
done
"""


def fake(folder):
    """A dynrun that prints what it is asked for and counts its calls, and options of make_page.py for it."""
    dynrun = folder / "bin" / "dynrun"
    dynrun.parent.mkdir()
    dynrun.write_text(FAKE)
    dynrun.chmod(0o755)
    options = argparse.Namespace(dynrun=dynrun, work=folder / "work", results=folder / "results", settings=["cpu-1"], workloads=["gemm-gnn"], most_shapes=5, most_gflop=None,
                                 most_model_gflop=None, most_predicted=None, most_valid=None, seed=1, rounds=2, slice_ms=0.1, peers=None, tuning_budget=200, search_budget=0,
                                 model_peers=None, chunk=2, note="")
    return dynrun, options


def test_searching():
    papers, data = facts.load()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        dynrun, options = fake(folder)
        options.search_budget = 20

        def run(setting):
            """How often dynrun was called to search, and what is there then."""
            options.settings = [setting]
            log = pathlib.Path(f"{dynrun}.log")
            log.unlink(missing_ok=True)
            with contextlib.redirect_stderr(io.StringIO()):
                measure.Measurer(options).all(papers, data)
            calls = log.read_text().splitlines().count("tune") if log.exists() else 0
            return calls, raw.read(options.results, setting, "gemm-gnn", "search")

        def shapes(result):
            return [row["problem"] for row in result.rows]
        stop = pathlib.Path(f"{dynrun}.stop")
        stop.touch()
        _, result = run("cpu-1")
        expect("a search that a signal stopped counts as whole", result.rows == [] and result.head["failed"] == "stopped by a signal")
        stop.unlink()
        lines = [case.line for case in cases.sample("gemm-gnn", data["workloads"]["gemm-gnn"], 5, None, 1).cases]
        calls, result = run("cpu-1")
        expect("a search lacks problems", calls == 3 and shapes(result) == ["matmul M={} N={} K={}".format(*line.split()) for line in lines])
        expect("a search has other flags", "--method bayes --budget 20 --seed 1 --threads 1" in result.head["command"])
        whole = {path.name for path in options.work.glob("*.out") if "dyn_over_best" in path.read_text()}
        raw.path_of(options.results, "cpu-1", "gemm-gnn", "search").unlink()
        (options.work / sorted(whole)[1]).unlink()
        again, result = run("cpu-1")
        expect("a stopped search of a suite loses its finished chunks", len(whole) == 3 and again == 1 and len(result.rows) == 5)
        options.most_predicted = 3
        calls, result = run("a100-f32")
        expect("a search on a described GPU takes another sample or long chunks", calls == 2 and len(result.rows) == 3 and result.head["sample"].startswith("3 of 38"))
        options.search_budget = 30
        expect("a search with another budget is not made", run("a100-f32")[0] == 2)
        options.search_budget = 0
        expect("a budget of 0 searches", run("cpu-1")[0] == 0)


def test_measuring():
    papers, data = facts.load()
    workload = data["workloads"]["gemm-gnn"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        dynrun, options = fake(folder)

        def run():
            """How often dynrun was called, what is there then, and what was said."""
            log = pathlib.Path(f"{dynrun}.log")
            log.unlink(missing_ok=True)
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                measurer = measure.Measurer(options)
                measurer.all(papers, data)
            calls = len(log.read_text().splitlines()) if log.exists() else 0
            return calls, raw.read(options.results, "cpu-1", "gemm-gnn", "select"), measurer.failures, said.getvalue()

        def plan():
            return measure.Measurer(options).plan_text(papers, data).splitlines()
        expect("a plan lacks what is to be measured", plan() == ["    50 s  cpu-1 gemm-gnn: select, 5 of 38 shapes, drawn with seed 1", "    50 s  in all, 1 files"])
        broken = pathlib.Path(f"{dynrun}.fail")
        broken.touch()
        calls, result, failures, _ = run()
        expect("a failure is not kept and reported", result.rows == [] and result.head["failed"] == "it is broken" and failures == ["cpu-1 gemm-gnn: dynrun: error: it is broken"])
        broken.unlink()
        calls, result, failures, said = run()
        lines = [case.line for case in cases.sample("gemm-gnn", workload, 5, None, 1).cases]
        expect("what failed is not measured again", calls == 3 and not failures and [row["shape"] for row in result.rows] ==
               ["M={} N={} K={}".format(*line.split()) for line in lines] and "failed" not in result.head)
        expect("the head lacks the sample", result.head["sample"] == "5 of 38 shapes, drawn with seed 1")
        expect("progress is not shown", "[1 of 1, 50 s left] cpu-1 gemm-gnn: select" in said)
        expect("what is there is measured again", run()[0] == 0 and plan() == ["     0 s  in all, 0 files"])
        raw.path_of(options.results, "cpu-1", "gemm-gnn", "select").unlink()
        expect("an estimate does not follow what was measured", plan()[0].split()[0] == "0")
        sorted(options.work.glob("*.out"))[0].unlink()
        expect("a stopped run does not go on where it stopped", run()[0] == 1)
        options.seed = 2
        expect("another sample is not measured", run()[0] > 0)
        options.settings, options.workloads = ["cpu-1", "a100-f32"], ["vortex-cnn", "vortex-lengths", "vortex", "gemm"]
        kinds = [line.split()[2:5] for line in plan()[:-1]]
        expect("several settings and workloads are not taken together", kinds == [["cpu-1", "gemm:", "build"], ["cpu-1", "vortex-cnn:", "select,"], ["cpu-1", "vortex-lengths:", "select,"],
               ["cpu-1", "vortex:", "variants,"], ["a100-f32", "vortex-cnn:", "select,"], ["a100-f32", "vortex-lengths:", "select,"], ["a100-f32", "vortex:", "variants,"]])
    text, dims = measure.model_of(cases.counted(data["workloads"]["dietcode-batch-matmul-nt"])[0])
    expect("a model of a product is wrong", "graph op(a: f32[B, M, K], b: f32[B, N, K]) -> (c: f32[B, M, N]) {\n  return matmul(a, b) transpose_b=true\n}" in text
           and dims == "--dims B=192 --dims M=24 --dims N=24 --dims K=64".split())
    text, dims = measure.model_of(cases.counted(data["workloads"]["ftuner-dense"])[0])
    expect("a model of a constant product is wrong", "weight b: f32[768, 2304] = random 1\ngraph op(a: f32[M, 768]) -> (c: f32[M, 2304])" in text and dims == ["--dims", "M=80"])


if __name__ == "__main__":
    for test in (test_broken_facts, test_samples, test_results, test_page, test_searches, test_searching, test_measuring):
        test()
    print("\n".join(PROBLEMS), end="\n" if PROBLEMS else "")
    sys.exit(1 if PROBLEMS else 0)
