// Two reports beside each other. A ratio below 1: the second is faster.

const sideNames = ["A", "B"];

// Pairs of what both have, and what only one has, by a key.
function matched(first, second, keyOf) {
  const others = new Map(second.map((each) => [keyOf(each), each]));
  const pairs = first.map((each) => [each, others.get(keyOf(each)) ?? null]);
  const known = new Set(first.map(keyOf));
  return [...pairs, ...second.filter((each) => !known.has(keyOf(each))).map((each) => [null, each])];
}

const ratioOf = (pair, of) => pair[0] && pair[1] && of(pair[0]) > 0 && of(pair[1]) !== null ? of(pair[1]) / of(pair[0]) : null;
const markOf = (ratio) => ratio === null ? "" : ratio < 0.97 ? "better" : ratio > 1.03 ? "worse" : "";

function timeColumns(name, of) {
  return [{ name: `${name} A`, of: (pair) => pair[0] ? of(pair[0]) : null, text: timeText },
    { name: `${name} B`, of: (pair) => pair[1] ? of(pair[1]) : null, text: timeText },
    { name: "B / A", of: (pair) => ratioOf(pair, of), text: short, mark: (pair) => markOf(ratioOf(pair, of)) }];
}

function comparedGroups(pair) {
  const runs = pair.map(runOf);
  const groups = matched(runs[0].groups, runs[1].groups, (group) => group.name);
  const either = (of) => (both) => of(both[0] ?? both[1]);
  return [table([{ name: "group", isText: true, of: either((group) => group.name) },
    { name: "operators", isText: true, of: either((group) => group.operators) },
    ...timeColumns("time", (group) => group.seconds),
    { name: "B - A", of: (both) => (both[1] ? both[1].seconds : 0) - (both[0] ? both[0].seconds : 0), text: (value) => (value < 0 ? "-" : "+") + timeText(Math.abs(value)) },
    { name: "program A", isText: true, of: (both) => both[0] ? both[0].program : null },
    { name: "program B", isText: true, of: (both) => !both[1] ? null : both[0] && both[1].program && both[0].program === both[1].program ? "the same" : both[1].program }], groups, 2),
  table([{ name: "", isText: true, of: (row) => row[0] }, { name: "A", of: (row) => row[1], text: bytesText }, { name: "B", of: (row) => row[2], text: bytesText }],
    [["arena", runs[0].arena_bytes, runs[1].arena_bytes], ["arena on the device", runs[0].device_arena_bytes, runs[1].device_arena_bytes]].filter((row) => row[1] + row[2] > 0))];
}

function comparison(data) {
  const reports = [data.a, data.b];
  const shapes = matched(...reports.map((each) => each.shapes), (shape) => dimsText(shape) + shape.threads);
  const both = shapes.filter((pair) => pair[0] && pair[1]);
  const median = (shape) => seconds(shape, "median");
  const nameOf = (pair) => `${dimsText(pair[0] ?? pair[1])}, threads ${(pair[0] ?? pair[1]).threads}`;
  const merged = both.map((pair) => ({ ...pair[0], b: pair[1] }));
  const lines = [{ name: "A", color: colours[0], of: median }, { name: "B", color: colours[1], of: (shape) => median(shape.b) },
    { name: "limit of the machine, A", color: "var(--limit)", dashed: true, of: (shape) => seconds(shape, "limit") }];
  const ratios = both.map((pair) => ratioOf(pair, median)).filter((ratio) => ratio > 0);
  const mean = ratios.length ? Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length) : null;
  const place = element("div");
  const draw = (i) => place.replaceChildren(...comparedGroups(both[i]));
  const select = chooser("at", both.map(nameOf), draw);
  if (both.length) draw(0);
  const loads = matched(...reports.map((each) => each.loads), (load) => load.load);
  const loadColumns = ["total", "parse", "compile", "measure", "weights"].flatMap((name) => timeColumns(name, (load) => (load[name + "_ms"] ?? 0) / 1e3));
  document.getElementById("page").replaceChildren(
    ...reports.map((each, i) => element("section", {}, element("span", { class: "quiet" }, sideNames[i]), headOf(each))),
    section("latency", "Latency by shape", mean === null ? "No shape is in both reports." : `B takes ${short(mean)} times the time of A, in the geometric mean of ${both.length} shapes.`,
      both.length ? latencyChart(merged, lines) : null, table([{ name: "shape", isText: true, of: nameOf }, ...timeColumns("median", median)], shapes)),
    section("groups", "Groups", both.length ? "The groups of one run each, by name." : "No shape is in both reports.", select, place),
    section("load", "The load", null, table([{ name: "load", isText: true, of: (pair) => (pair[0] ?? pair[1]).load }, ...loadColumns], loads)));
}
