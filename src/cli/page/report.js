// One report: sections about all shapes, and about the shape that the reader chooses.

const colours = [0, 1, 2, 3, 4, 5].map((i) => `var(--c${i})`);

function dimsText(shape) {
  const words = Object.entries(shape.dims).map(([name, size]) => `${name}=${size}`);
  return words.join(" ") || "its only shape";
}

function shapeText(data, shape) {
  const several = new Set(data.shapes.map((each) => each.threads)).size > 1;
  return dimsText(shape) + (several ? `, ${shape.threads} thread${shape.threads > 1 ? "s" : ""}` : "");
}

function seconds(shape, name) {
  const value = shape.times[name + "_ms"];
  return value === null || value === undefined ? null : value / 1e3;
}

function headOf(data) {
  const facts = [["machine", data.machine], ["device", data.device], ["made", data.made], ["dyn", data.dyn],
    ...Object.entries(data.options)];
  return [element("h1", {}, data.model),
    element("ul", { class: "facts" }, facts.filter(([, value]) => value).map(([name, value]) =>
      element("li", {}, element("span", { class: "quiet" }, name + " "), element("b", {}, String(value)))))];
}

// The dims, "threads" among them, that differ between shapes, the one of most values first.
function varying(shapes) {
  const of = (shape) => ({ ...shape.dims, threads: shape.threads });
  const names = shapes.length ? Object.keys(of(shapes[0])) : [];
  const counted = names.map((name) => [name, new Set(shapes.map((shape) => of(shape)[name])).size]);
  return counted.filter(([, count]) => count > 1).sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

// `lines`: {name, color, dashed, of(shape) -> seconds or null}.
function latencyChart(shapes, lines) {
  const [along, ...others] = varying(shapes);
  const of = (shape) => ({ ...shape.dims, threads: shape.threads });
  const drawnLines = (chosen) => lines.filter((line) => chosen.some((shape) => line.of(shape) !== null));
  const keys = (list) => legend(list.map((line) => [line.name, line.color, line.dashed ? "dashed" : ""]));
  if (along === undefined) {
    const list = drawnLines(shapes);
    return [barChart(list.flatMap((line) => shapes.map((shape) => ({ name: line.name, color: line.color, value: line.of(shape) ?? 0, text: timeText(line.of(shape)) }))))];
  }
  const keyOf = (shape) => others.map((name) => `${name}=${of(shape)[name]}`).join(" ");
  const kinds = [...new Set(shapes.map(keyOf))];
  const place = element("div");
  const draw = (i) => {
    const chosen = shapes.filter((shape) => keyOf(shape) === kinds[i]).sort((a, b) => of(a)[along] - of(b)[along]);
    const list = drawnLines(chosen);
    const series = list.map((line) => ({ ...line, points: chosen.filter((shape) => line.of(shape) !== null).map((shape) => [of(shape)[along], line.of(shape)]) }));
    place.replaceChildren(keys(list), lineChart({ series, xLabel: along, yLabel: "time of one run", yText: timeText }));
  };
  draw(0);
  return [chooser("at", kinds, draw), place];
}

function latencySection(data) {
  const lines = [{ name: "dyn", color: colours[0], of: (shape) => seconds(shape, "median") },
    ...data.peers.map((peer, i) => ({ name: peer, color: colours[1 + (i % 5)], of: (shape) => shape.peers[peer] ?? null })),
    { name: "limit of the machine", color: "var(--limit)", dashed: true, of: (shape) => seconds(shape, "limit") }];
  const extra = data.shapes.length ? Object.keys(data.shapes[0].times).filter((name) => /^p[0-9.]+_ms$/.test(name)) : [];
  const ratio = (value) => short(value);
  const columns = [{ name: "shape", isText: true, of: (shape) => shapeText(data, shape) },
    { name: "median", of: (shape) => seconds(shape, "median"), text: timeText },
    ...extra.map((name) => ({ name: name.replace("_ms", ""), of: (shape) => seconds(shape, name.replace("_ms", "")), text: timeText })),
    { name: "limit", of: (shape) => seconds(shape, "limit"), text: timeText },
    { name: "limit / median", of: (shape) => shape.times.limit_ratio, text: ratio },
    ...data.peers.flatMap((peer) => [{ name: peer, of: (shape) => shape.peers[peer] ?? null, text: timeText },
      { name: peer + " / dyn", of: (shape) => shape.peers[peer] ? shape.peers[peer] / shape.times.peer_base_s : null, text: ratio,
        mark: (shape) => !shape.peers[peer] ? "" : shape.peers[peer] < shape.times.peer_base_s ? "worse" : "better" }]),
    { name: "GFLOP/s", of: (shape) => shape.times.gflops, text: short },
    { name: "first call", of: (shape) => seconds(shape, "first"), text: timeText },
    { name: "new shape adds", of: (shape) => shape.times.new_shape_us === null ? null : shape.times.new_shape_us / 1e6, text: timeText },
    { name: "runs", of: (shape) => shape.times.runs }];
  return section("latency", "Latency by shape",
    "The limit is what no program on this machine can beat: the products at its measured peak, or each weight, input and output once from the memory where they are, whichever takes longer.",
    latencyChart(data.shapes, lines), table(columns, data.shapes));
}

function loadSection(data) {
  const parts = [["parse", "parse"], ["compile", "compile"], ["measure", "measure"], ["weights", "weights"], ["weights_write", "write weights to the cache"]];
  const keys = [...parts.map(([, title], i) => [title, colours[i], "block"]), ["the rest", "var(--limit)", "block"]];
  const bars = data.loads.map((load) => {
    const known = parts.map(([name, title], i) => [colours[i], (load[name + "_ms"] || 0) / 1e3, `${title}: ${timeText((load[name + "_ms"] || 0) / 1e3)}`]);
    const rest = Math.max(load.total_ms / 1e3 - known.reduce((sum, part) => sum + part[1], 0), 0);
    return { name: load.load, parts: [...known, ["var(--limit)", rest, `the rest: ${timeText(rest)}`]], text: timeText(load.total_ms / 1e3) };
  });
  const names = [...new Set(data.loads.flatMap((load) => Object.keys(load)))].filter((name) => name !== "model" && name !== "load");
  const columns = [{ name: "load", isText: true, of: (load) => load.load },
    ...names.map((name) => ({ name: name.replace(/_ms$/, "").replaceAll("_", " "), of: (load) => load[name],
      text: name.endsWith("_ms") ? (value) => timeText(value / 1e3) : (value) => Number.isInteger(value) ? String(value) : short(value) }))];
  return section("load", "The load", "Random weights, and measuring the machine once, are not part of the total.",
    legend(keys), barChart(bars), table(columns, data.loads));
}

// What the arrays of a run hold, with names; times in seconds since the run's start.
function runOf(shape) {
  const run = shape.run, groups = run.groups.map((group) => ({ ...group, seconds: 0, times: 0 }));
  const events = run.events.map(([kind, group, start, end]) => ({ kind, group: groups[group], start: start / 1e9, end: end / 1e9 }));
  const slices = run.slices.map(([event, thread, stage, first, count, start, end]) =>
    ({ event: events[event], thread, stage, first, count, start: start / 1e9, end: end / 1e9 }));
  const buffers = run.buffers.map(([tensor, device, offset, bytes, first, last]) =>
    ({ tensor, device: device === 1, offset, bytes, first, last, start: events[first].start, end: events[last].end }));
  for (const event of events) { event.group.seconds += event.end - event.start; if (event.kind === 0) ++event.group.times; }
  const total = events.reduce((sum, event) => sum + event.end - event.start, 0) || 1;
  for (const group of groups) group.share = group.seconds / total;
  return { ...run, groups, events, slices, buffers, seconds: run.duration_ns / 1e9 };
}

const kindsOfWork = [["products", colours[0]], ["no products", colours[2]], ["on the host", colours[4]], ["copies", colours[3]], ["waiting", "var(--limit)"]];

function colourOf(event) {
  if (event.kind === 1) return kindsOfWork[3][1];
  if (event.kind === 2) return kindsOfWork[4][1];
  if (event.group.device === "host") return kindsOfWork[2][1];
  return kindsOfWork[event.group.flops > 0 ? 0 : 1][1];
}

function eventText(event) {
  const group = event.group, kind = ["", ": copy", ": wait"][event.kind];
  return `${group.name}${kind}: ${timeText(event.end - event.start)} from ${timeText(event.start)}; ${group.operators}` +
    (event.kind === 0 && group.program ? `; ${group.program}` : "");
}

function timeline(run) {
  const note = element("p", { class: "note" }, "Point at a bar to read what it is.");
  const zoom = element("input", { type: "range", min: 0, max: 6, step: 0.25, value: 0, "aria-label": "Zoom" });
  const rows = Math.max(run.threads, 1), high = 22, top = 4, left = 74;
  const place = chart((wide) => {
    const width = left + (wide - left - 4) * 2 ** Number(zoom.value), height = top + (rows + 1) * (high + 4) + 30;
    const svg = drawn("svg", { width, height, role: "img", "aria-label": "Who did what when" });
    const at = scale(0, run.seconds, left, width - 4);
    const bar = (row, start, end, color, text, label) => {
      const x = at(start), size = Math.max(at(end) - x, 0.6), y = top + row * (high + 4);
      svg.append(drawn("rect", { x, y, width: size, height: high, fill: color, stroke: "var(--card)", "stroke-width": size > 3 ? 0.8 : 0, pointerenter: () => { note.textContent = text; } }));
      if (label && size > 40) svg.append(drawn("text", { class: "in", x: x + 4, y: y + 15 }, cut(label, Math.floor((size - 6) / 6.4))));
    };
    for (const event of run.events) bar(0, event.start, event.end, colourOf(event), eventText(event), event.group.name);
    for (const slice of run.slices)
      bar(1 + slice.thread, slice.start, slice.end, colourOf(slice.event), `${slice.event.group.name}${slice.stage ? ", merging" : ""}: ` +
        `tickets ${slice.first} to ${slice.first + slice.count - 1} in ${timeText(slice.end - slice.start)}; thread ${slice.thread}`, "");
    ["groups", "caller", ...Array.from({ length: rows - 1 }, (_, i) => `helper ${i + 1}`)].forEach((name, row) =>
      svg.append(drawn("text", { class: "quiet", x: left - 8, y: top + row * (high + 4) + 16, "text-anchor": "end" }, name)));
    for (const tick of linearTicks(0, run.seconds, Math.max(2, Math.floor(width / 110))))
      svg.append(drawn("text", { class: "quiet", x: at(tick), y: height - 8, "text-anchor": tick ? "middle" : "start" }, tidy(timeText(tick))),
        drawn("line", { class: "axis", x1: at(tick), x2: at(tick), y1: height - 26, y2: height - 21 }));
    return svg;
  });
  zoom.addEventListener("input", place.redraw);
  const busy = run.slices.reduce((sum, slice) => sum + slice.end - slice.start, 0);
  const used = run.slices.length ? `Threads worked on tickets for ${percentText(Math.min(busy / (run.seconds * rows), 1))} of ${rows} × ${timeText(run.seconds)}.` : "";
  return [element("p", { class: "quiet" }, used), element("div", { class: "bar" }, element("label", {}, "Zoom ", zoom)), legend(kindsOfWork.map(([name, color]) => [name, color, "block"])), place, note];
}

function groupTable(run) {
  const rate = (of) => (group) => group.seconds > 0 && of(group) > 0 ? of(group) * Math.max(group.times, 1) / group.seconds / 1e9 : null;
  return table([{ name: "group", isText: true, of: (group) => group.name },
    { name: "operators", isText: true, of: (group) => group.operators },
    { name: "program", isText: true, of: (group) => group.program },
    { name: "device", isText: true, of: (group) => group.device },
    { name: "times", of: (group) => group.times },
    { name: "time", of: (group) => group.seconds, text: timeText },
    { name: "share", of: (group) => group.share, text: percentText },
    { name: "predicted", of: (group) => group.predicted_s > 0 ? group.predicted_s * Math.max(group.times, 1) : null, text: timeText },
    { name: "GFLOP/s", of: rate((group) => group.flops), text: short },
    { name: "GB/s", of: rate((group) => group.bytes), text: short },
    { name: "threads", of: (group) => group.threads },
    { name: "tickets", of: (group) => group.tickets }], run.groups, 5);
}

function roofline(data, shape, run) {
  const points = run.groups.filter((group) => group.flops > 0 && group.seconds > 0 && group.bytes > 0)
    .map((group) => ({ group, x: group.flops / group.bytes, y: group.flops * group.times / group.seconds / 1e9 }));
  if (!points.length) return [element("p", { class: "quiet" }, "No group of this model multiplies: the table above has the bytes that each moves in a second.")];
  const peak = data.peak ? data.peak.find((figures) => figures.threads === shape.threads) : null;
  const levels = peak ? [["L1", peak.l1_gb_per_s], ["L2", peak.l2_gb_per_s], ["L3", peak.l3_gb_per_s], ["memory", peak.dram_gb_per_s]].filter((level) => level[1] > 0) : [];
  const tops = peak ? [["f32", peak.gflops], ["bf16", peak.bf16_gflops], ["i8", peak.i8_gflops]].filter((top) => top[1] > 0) : [];
  const rest = run.groups.filter((group) => !(group.flops > 0)).reduce((sum, group) => sum + group.share, 0);
  const xs = points.map((point) => point.x), ys = [...points.map((point) => point.y), ...tops.slice(0, 1).map((top) => top[1])];
  const [lowX, highX] = [Math.min(...xs, 1) / 4, Math.max(...xs) * 4], [lowY, highY] = [Math.min(...ys) / 4, Math.max(...ys) * 1.6];
  const place = chart((width) => {
    const height = 360, svg = drawn("svg", { width, height, role: "img", "aria-label": "Roofline of the groups" });
    const { atX, atY, box } = axes(svg, width, height, { low: lowX, high: highX, log: true, label: "operations for each byte" }, { low: lowY, high: highY, log: true, label: "GFLOP/s" });
    const roof = tops.length ? tops[0][1] : highY;
    for (const [name, rate] of levels) {
      const from = Math.max(lowX, lowY / rate), to = Math.min(highX, roof / rate);
      if (from >= to) continue;
      const slope = (Math.atan2(atY(to * rate) - atY(from * rate), atX(to) - atX(from)) * 180) / Math.PI;
      svg.append(drawn("path", { d: `M${atX(from)} ${atY(from * rate)}L${atX(to)} ${atY(to * rate)}`, stroke: "var(--limit)", fill: "none", "stroke-dasharray": "5 4" }),
        drawn("text", { class: "quiet", transform: `translate(${atX(from)} ${atY(from * rate)}) rotate(${slope}) translate(8 -4)` }, `${name} ${short(rate)} GB/s`));
    }
    for (const [name, rate] of tops) {
      if (rate > highY) continue;
      const from = Math.max(lowX, rate / Math.max(...levels.map((level) => level[1]), rate / lowX));
      svg.append(drawn("line", { x1: atX(from), x2: box.right, y1: atY(rate), y2: atY(rate), stroke: "var(--limit)" }),
        drawn("text", { class: "quiet", x: box.right, y: atY(rate) - 5, "text-anchor": "end" }, `${name} ${short(rate)} GFLOP/s`));
    }
    const taken = [];
    for (const { group, x, y } of [...points].sort((a, b) => b.group.share - a.group.share)) {
      const cx = atX(x), cy = atY(y), radius = 3 + 14 * Math.sqrt(group.share);
      svg.append(drawn("circle", { cx, cy, r: radius, fill: colours[0], "fill-opacity": 0.45, stroke: colours[0] },
        drawn("title", {}, `${group.name}: ${short(y)} GFLOP/s, ${short(x)} operations for each byte, ${percentText(group.share)} of the time; ${group.operators}`)));
      const name = cut(group.name, 22), right = cx + radius + 4 + name.length * 6.6 < box.right;
      const label = { x: right ? cx + radius + 4 : cx - radius - 4 - name.length * 6.6, y: cy + 4, wide: name.length * 6.6 };
      if (taken.length >= 8 || taken.some((other) => Math.abs(other.y - label.y) < 14 && label.x < other.x + other.wide && other.x < label.x + label.wide)) continue;
      taken.push(label);
      svg.append(drawn("text", { x: label.x, y: label.y }, name));
    }
    return svg;
  });
  return [element("p", { class: "quiet" }, `A circle's area is the group's share of the time. Groups without products take ${percentText(rest)} of it and are not drawn.`), place];
}

function memory(run) {
  const sets = [["on the host", run.buffers.filter((buffer) => !buffer.device), run.arena_bytes], ["on the device", run.buffers.filter((buffer) => buffer.device), run.device_arena_bytes]];
  return sets.filter(([, buffers]) => buffers.length).flatMap(([where, buffers, size]) => {
    const note = element("p", { class: "note" }, "Point at a rectangle to read which tensor lies there.");
    const live = run.events.map((event, i) => buffers.filter((buffer) => buffer.first <= i && i <= buffer.last).reduce((sum, buffer) => sum + buffer.bytes, 0));
    const most = Math.max(...live, 0), all = buffers.reduce((sum, buffer) => sum + buffer.bytes, 0);
    const place = chart((width) => {
      const height = 300, svg = drawn("svg", { width, height, role: "img", "aria-label": "Memory by time" });
      const { atX, atY } = axes(svg, width, height, { low: 0, high: run.seconds, label: "time of the run", text: timeText }, { low: 0, high: size * 1.04 || 1, label: "place in the arena", text: bytesText });
      buffers.forEach((buffer, i) => svg.append(drawn("rect", { x: atX(buffer.start), y: atY(buffer.offset + buffer.bytes), width: Math.max(atX(buffer.end) - atX(buffer.start), 0.8), height: Math.max(atY(buffer.offset) - atY(buffer.offset + buffer.bytes), 0.8),
        fill: colours[i % 6], "fill-opacity": 0.45, stroke: "var(--card)", "stroke-width": 0.5, pointerenter: () => { note.textContent = `${buffer.tensor}: ${bytesText(buffer.bytes)} at ${bytesText(buffer.offset)}, from ${run.events[buffer.first].group.name} to ${run.events[buffer.last].group.name}`; } })));
      let path = "";
      run.events.forEach((event, i) => { path += `${i ? "L" : "M"}${atX(event.start).toFixed(1)} ${atY(live[i]).toFixed(1)}L${atX(event.end).toFixed(1)} ${atY(live[i]).toFixed(1)}`; });
      svg.append(drawn("path", { d: path, fill: "none", stroke: "var(--text)", "stroke-width": run.events.length > 150 ? 0.7 : 1.4 }));
      return svg;
    });
    return [element("p", { class: "quiet" }, `The arena ${where} has ${bytesText(size)} for ${buffers.length} tensor${buffers.length > 1 ? "s" : ""} of ${bytesText(all)} in all; at most ${bytesText(most)} are alive at once (the line).`), place, note];
  });
}

function choices(shape) {
  const most = 4;
  return shape.choices.map(({ groups, text }) => {
    const more = groups.length > most ? ` and ${groups.length - most} more` : "";
    return element("details", {}, element("summary", {}, groups.slice(0, most).join(", ") + more),
      more ? element("p", { class: "quiet" }, groups.join(", ")) : null, element("pre", {}, text));
  });
}

function shapeSections(data, shape) {
  const run = runOf(shape), name = shapeText(data, shape);
  const none = element("p", { class: "quiet" }, "Nothing to show: the model has no intermediate tensors in an arena at this shape.");
  const explained = choices(shape);
  return [section("timeline", "Timeline", `One run at ${name}, ${timeText(run.seconds)}, with who did which tickets when.`, timeline(run)),
    section("groups", "Groups", "What each fused group of operators took in this run, beside what the cost model had predicted.", groupTable(run)),
    section("roofline", "Roofline of groups", null, roofline(data, shape, run)),
    section("memory", "Memory by time", null, run.buffers.length ? memory(run) : none),
    section("choices", "Choices", "The programs considered for each group at this shape, with the terms of their cost.",
      explained.length ? explained : element("p", { class: "quiet" }, "There is one way to run each group."))];
}

function dataSection(data) {
  const save = () => {
    const link = element("a", { href: URL.createObjectURL(new Blob([JSON.stringify(data)], { type: "application/json" })), download: data.model + ".json" });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return section("data", "The data", "This page holds all its data as JSON. dynrun report --from PAGE -o DATA.json writes it, and dynrun report --compare A B -o PAGE compares two reports.",
    element("div", { class: "bar" }, element("button", { type: "button", click: save }, "Save as JSON")));
}

function report(data) {
  const place = element("div");
  const select = chooser("The sections below are about", data.shapes.map((shape) => shapeText(data, shape)), (i) => place.replaceChildren(...shapeSections(data, data.shapes[i])));
  if (data.shapes.length) place.replaceChildren(...shapeSections(data, data.shapes[0]));
  document.getElementById("page").replaceChildren(...headOf(data), latencySection(data), select ? element("section", { class: "bar" }, select) : "", place, loadSection(data), dataSection(data));
}

function show() {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (data.format === "dyn-comparison") comparison(data);
  else report(data);
}
