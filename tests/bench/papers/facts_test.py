#!/usr/bin/env python3
"""Breaks facts, samples and pages, and prints what nobody noticed; prints nothing where all is well."""

import argparse
import contextlib
import copy
import io
import pathlib
import sys
import tempfile

import cases
import facts
import measure
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


def test_broken_facts():
    def of_paper(name, part, change):
        refused(name, part, change, check_papers_with)

    def of_workloads(name, part, change):
        refused(name, part, change, check_workloads_with)

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
    of_workloads("a suite that is not there", "there is no suite nothing.txt", lambda data: data["workloads"]["gemm-gnn"].update(suites=["nothing.txt"]))
    of_workloads("a setting that is not there", "there is no setting moon", lambda data: data["workloads"]["gemm-gnn"].update(settings=["moon"]))
    of_workloads("a GPU without a description", "a device 'cuda' has a gpu", lambda data: data["settings"]["a100-f32"].pop("gpu"))
    of_workloads("suites and types at once", "either suites or types", lambda data: data["workloads"]["gemm-gnn"].update(types="f32[M,8] x f32[8,8]"))
    of_workloads("counters of a CPU", "counts for GPUs", lambda data: data["workloads"]["dense-768-2304"].update(counters=["cpu-1"]))
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
    expect("ranges are not read as dynrun reads them", cases.values_of("1..9+4,3,1..20*4") == [1, 5, 9, 3, 1, 4, 16] and cases.values_of("2..4") == [2, 3, 4])
    expect("operations of a product are wrong", cases.flops_of(["M", "N", "K", "TA", "TB"], ["3", "5", "7", "N", "T"]) == 2 * 3 * 5 * 7)
    conv = "N IC IH IW OC KH KW SH SW PT PL PB PR G".split()
    expect("operations of a convolution are wrong", cases.flops_of(conv, "2 4 9 9 6 3 3 2 2 1 1 1 1 2".split()) == 2 * 2 * 5 * 5 * 6 * 9 * 4 // 2)
    free = cases.all_cases({"suites": ["conv-cnn.txt"], "batches": "1,16"})
    expect("a free batch is not filled in", [case.line.split()[0] for case in free[:2]] == ["1", "16"] and free[1].flops == 16 * free[0].flops)
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


def test_page():
    papers, data = facts.load()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        empty = page.Page(papers, data, folder).text()
        expect("a page without results does not say so", "not measured (CPU, 1 thread" in empty and "No raw results yet." in empty)
        head = {"date": "2026-01-02", "machine": "a machine", "revision": "abc", "command": "dynrun select x", "sample": "2 of 38 shapes, drawn with seed 1"}
        raw.path_of(folder, "cpu-1", "gemm-gnn", "select").write_text(raw.Raw(head, raw.choices(SELECTED)).text())
        text = page.Page(papers, data, folder).text()
        expect("a page lacks the ratio, the sample or the count of valid shapes", "| 2 of 38 | Vortex | 0.400 |" in text and "| 1 of 2 |" in text)
        expect("a page does not repeat itself", text == page.Page(papers, data, folder).text())
        expect("the overview is wrong", "| GEMM of graph networks | CPU, 1 thread | 2 of 38 | 21 | 0.894 | 0.810 | 0.400 (Vortex) | 0.400 |  |" in text and "**all**" not in text)
        raw.path_of(folder, "cpu-1", "gemm-cnn", "select").write_text(raw.Raw(head, raw.choices(SELECTED)).text())
        expect("the overview of all is wrong", "| **all** | CPU, 1 thread | 4 | 21 | 0.894 |" in page.Page(papers, data, folder).text())
        raw.path_of(folder, "cpu-1", "gemm-gnn", "op").write_text(raw.Raw(head, raw.peers(TIMED)).text())
        expect("a page lacks the ratios to libraries", "| 2 of 38 | onednn | 50.0 % | 1.25 | 1.00 | 0.50 | 2.00 |" in page.Page(papers, data, folder).text())
        papers["vortex"]["claims"][0]["value"] = facts.Printed("2.54")
        expect("a changed figure leaves the page as it was", page.Page(papers, data, folder).text() != text)
    expect("a figure is not shown as it is printed", "| 10.30 |" in empty and "| 1.70 |" in empty)
    try:
        page.with_body("no markers", "body", "a page")
        PROBLEMS.append("a page without markers is written")
    except facts.BadFacts:
        pass


FAKE = """#!/usr/bin/env bash
echo call >>"$0.log"
[ ! -e "$0.fail" ] || { echo "dynrun: error: it is broken" >&2; exit 1; }
echo shape,policy,candidates,program,predicted_ns,measured_ns,choose_ns
sed 1d "$2" | while read -r m n k _; do
  echo "M=$m N=$n K=$k threads=1,dyn,3,words,5,6,7"
  echo "M=$m N=$n K=$k threads=1,oracle,3,words,,6,"
done
"""


def test_measuring():
    data = facts.read("workloads")
    workload, setting = data["workloads"]["gemm-gnn"], data["settings"]["cpu-1"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        dynrun = folder / "bin" / "dynrun"
        dynrun.parent.mkdir()
        dynrun.write_text(FAKE)
        dynrun.chmod(0o755)
        options = argparse.Namespace(dynrun=dynrun, work=folder / "work", results=folder / "results", most_shapes=5, most_gflop=None, most_predicted=None,
                                     seed=1, rounds=2, slice_ms=0.1, peers=None, chunk=2, note="")

        def run():
            """How often dynrun was called, and what is there then."""
            log = pathlib.Path(f"{dynrun}.log")
            log.unlink(missing_ok=True)
            with contextlib.redirect_stderr(io.StringIO()):
                measurer = measure.Measurer(options)
                measurer.step("gemm-gnn", "cpu-1", measurer.choices, "gemm-gnn", workload, "cpu-1", setting)
            return len(log.read_text().splitlines()) if log.exists() else 0, raw.read(options.results, "cpu-1", "gemm-gnn", "select"), measurer.failures
        broken = pathlib.Path(f"{dynrun}.fail")
        broken.touch()
        calls, result, failures = run()
        expect("a failure is not kept and reported", result.rows == [] and result.head["failed"] == "it is broken" and failures == ["cpu-1 gemm-gnn: dynrun: error: it is broken"])
        broken.unlink()
        calls, result, failures = run()
        lines = [case.line for case in cases.sample("gemm-gnn", workload, 5, None, 1).cases]
        expect("what failed is not measured again", calls == 3 and not failures and [row["shape"] for row in result.rows] ==
               ["M={} N={} K={}".format(*line.split()) for line in lines] and "failed" not in result.head)
        expect("the head lacks the sample", result.head["sample"] == "5 of 38 shapes, drawn with seed 1")
        expect("what is there is measured again", run()[0] == 0)
        raw.path_of(options.results, "cpu-1", "gemm-gnn", "select").unlink()
        sorted(options.work.glob("*.out"))[0].unlink()
        expect("a stopped run does not go on where it stopped", run()[0] == 1)
        options.seed = 2
        expect("another sample is not measured", run()[0] > 0)
    expect("a model of a product is wrong", "graph op(a: f32[192, T, 64], b: f32[192, T, 64]) -> (c: f32[192, T, T]) {\n  return matmul(a, b) transpose_b=true\n}"
           in measure.model_text(data["workloads"]["batch-matmul-nt"]))


if __name__ == "__main__":
    for test in (test_broken_facts, test_samples, test_results, test_page, test_measuring):
        test()
    print("\n".join(PROBLEMS), end="\n" if PROBLEMS else "")
    sys.exit(1 if PROBLEMS else 0)
