// Elements, numbers as text, scales, and the kinds of diagrams. All text goes in as text, never as markup.

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  return filled(made, attributes, children);
}

function drawn(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) made.append(child);
  return made;
}

// Three significant digits.
function short(number) {
  if (number === null || number === undefined || !isFinite(number)) return "";
  const size = Math.abs(number);
  if (size === 0) return "0";
  if (size >= 1e6 || size < 1e-3) return number.toExponential(1);
  return size >= 100 ? number.toFixed(0) : number.toPrecision(3);
}

function timeText(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "";
  if (seconds >= 1) return short(seconds) + " s";
  return seconds >= 1e-3 ? short(seconds * 1e3) + " ms" : short(seconds * 1e6) + " µs";
}

function bytesText(bytes) {
  if (bytes >= 1e9) return short(bytes / 1e9) + " GB";
  if (bytes >= 1e6) return short(bytes / 1e6) + " MB";
  return bytes >= 1e3 ? short(bytes / 1e3) + " kB" : bytes + " B";
}

function percentText(share) { return (share * 100).toFixed(share < 0.1 ? 1 : 0) + " %"; }

function cut(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }

// Without zeros that say nothing: "30.0 ms" becomes "30 ms".
function tidy(text) { return text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, ""); }

// From a range of values to a range of pixels.
function scale(low, high, from, to, isLog) {
  const at = isLog ? Math.log10 : (x) => x;
  const span = at(high) - at(low) || 1;
  return (value) => from + ((at(value) - at(low)) / span) * (to - from);
}

function linearTicks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1) || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); ++i) ticks.push(i * step);
  return ticks;
}

function logTicks(low, high, most) {
  for (const digits of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
      for (const digit of digits) {
        const tick = digit * 10 ** power;
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    if (ticks.length <= most || digits.length === 1) {
      const every = Math.ceil(ticks.length / most);
      return ticks.filter((_, i) => i % every === 0);
    }
  }
  return [];
}

// A place that draws anew whenever its width changes.
function chart(draw) {
  const place = element("div", { class: "wide" });
  let last = 0;
  const redraw = (width) => {
    if (width < 1 || Math.abs(width - last) < 1) return;
    last = width;
    place.replaceChildren(draw(Math.max(width, 280)));
  };
  place.redraw = () => { const width = place.clientWidth; last = 0; redraw(width); };
  queueMicrotask(place.redraw);  // by then it is in the page
  new ResizeObserver(() => requestAnimationFrame(() => redraw(place.clientWidth))).observe(place);
  return place;
}

function legend(entries) {
  return element("div", { class: "legend" }, entries.map(([name, color, kind]) =>
    element("span", { class: kind || "", style: "--key: " + color }, name)));
}

// Axes with grid lines; returns the scales. `x` and `y`: {low, high, log, label, text, ticks}.
function axes(svg, width, height, x, y) {
  const box = { left: 76, right: width - 14, top: 12, bottom: height - 40 };
  const atX = scale(x.low, x.high, box.left, box.right, x.log), atY = scale(y.low, y.high, box.bottom, box.top, y.log);
  const most = Math.max(2, Math.floor((box.right - box.left) / 70));
  const ticksX = x.ticks && x.ticks.length <= most ? x.ticks : x.log ? logTicks(x.low, x.high, most) : linearTicks(x.low, x.high, most);
  const ticksY = y.log ? logTicks(y.low, y.high, 8) : linearTicks(y.low, y.high, 5);
  for (const tick of ticksY) {
    svg.append(drawn("line", { class: "grid", x1: box.left, x2: box.right, y1: atY(tick), y2: atY(tick) }),
      drawn("text", { class: "quiet", x: box.left - 6, y: atY(tick) + 4, "text-anchor": "end" }, tidy((y.text || short)(tick))));
  }
  for (const tick of ticksX) {
    const text = tidy((x.text || short)(tick)), ends = atX(tick) + 3.5 * text.length > width;
    svg.append(drawn("line", { class: "axis", x1: atX(tick), x2: atX(tick), y1: box.bottom, y2: box.bottom + 4 }),
      drawn("text", { class: "quiet", x: ends ? width : atX(tick), y: box.bottom + 17, "text-anchor": ends ? "end" : "middle" }, text));
  }
  svg.append(drawn("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
    drawn("text", { class: "quiet", x: (box.left + box.right) / 2, y: height - 4, "text-anchor": "middle" }, x.label),
    drawn("text", { class: "quiet", x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)` }, y.label));
  return { atX, atY, box };
}

function rangeOf(values, isLog) {
  const low = Math.min(...values), high = Math.max(...values);
  if (isLog) return low === high ? [low / 2, high * 2] : [low / 1.15, high * 1.15];
  return [Math.min(low, 0), high === 0 ? 1 : high * 1.05];
}

// `series`: {name, color, dashed, points: [[x, y], ...]}; the points of each ascend.
function lineChart({ series, xLabel, yLabel, yText }) {
  const points = series.flatMap((each) => each.points);
  const xs = [...new Set(points.map((point) => point[0]))].sort((a, b) => a - b), ys = points.map((point) => point[1]);
  const logX = xs[0] > 0 && xs[xs.length - 1] / xs[0] > 8, logY = Math.min(...ys) > 0 && Math.max(...ys) / Math.min(...ys) > 8;
  const [lowY, highY] = rangeOf(ys, logY);
  return chart((width) => {
    const height = 320;
    const svg = drawn("svg", { width, height, role: "img", "aria-label": yLabel + " by " + xLabel });
    const { atX, atY } = axes(svg, width, height, { low: xs[0], high: xs[xs.length - 1], log: logX, label: xLabel, text: String, ticks: xs },
      { low: lowY, high: highY, log: logY, label: yLabel, text: yText });
    for (const each of series) {
      const path = each.points.map(([x, y], i) => (i ? "L" : "M") + atX(x).toFixed(1) + " " + atY(y).toFixed(1)).join("");
      svg.append(drawn("path", { d: path, fill: "none", stroke: each.color, "stroke-width": each.dashed ? 1.5 : 2, "stroke-dasharray": each.dashed ? "5 4" : null }));
      if (each.dashed) continue;
      for (const [x, y] of each.points)
        svg.append(drawn("circle", { cx: atX(x), cy: atY(y), r: 3.5, fill: each.color }, drawn("title", {}, `${each.name}, ${xLabel} ${x}: ${timeText(y)}`)));
    }
    return svg;
  });
}

// Horizontal bars: {name, color, value, text}; or with `parts`: [[color, value, title], ...].
function barChart(bars) {
  const most = Math.max(...bars.map((bar) => bar.parts ? bar.parts.reduce((sum, part) => sum + part[1], 0) : bar.value), 1e-12);
  return chart((width) => {
    const label = Math.min(150, width * 0.3), room = width - label - 90;
    const svg = drawn("svg", { width, height: bars.length * 30 + 6 });
    bars.forEach((bar, i) => {
      let x = label;
      svg.append(drawn("text", { x: label - 8, y: i * 30 + 20, "text-anchor": "end" }, cut(bar.name, Math.floor(label / 7)), drawn("title", {}, bar.name)));
      for (const [color, value, title] of bar.parts || [[bar.color, bar.value, bar.name]]) {
        const size = (value / most) * room;
        svg.append(drawn("rect", { x, y: i * 30 + 6, width: Math.max(size, 0.5), height: 20, fill: color }, drawn("title", {}, title)));
        x += size;
      }
      svg.append(drawn("text", { x: x + 6, y: i * 30 + 20 }, bar.text));
    });
    return svg;
  });
}

// `columns`: {name, of(row) -> value, text(value), isText, mark(row) -> class}. A click on a heading sorts.
// Columns that are empty in all rows are left out.
function table(all, rows, sorted) {
  const isEmpty = (value) => value === null || value === undefined || value === "";
  const columns = all.filter((column) => !rows.length || rows.some((row) => !isEmpty(column.of(row))));
  const state = { by: sorted === undefined ? -1 : columns.indexOf(all[sorted]), down: true };
  const body = element("tbody");
  const fill = () => {
    const list = [...rows];
    if (state.by >= 0) {
      const of = columns[state.by].of;
      list.sort((a, b) => {
        const x = of(a), y = of(b), less = typeof x === "string" ? String(x).localeCompare(String(y)) : (x ?? -Infinity) - (y ?? -Infinity);
        return state.down ? -less : less;
      });
    }
    body.replaceChildren(...list.map((row) => element("tr", {}, columns.map((column) => {
      const value = column.of(row), text = value === null || value === undefined ? "" : (column.text || String)(value);
      return element("td", { class: (column.isText ? "text " : "") + (column.mark ? column.mark(row) : ""), title: column.isText ? text : null }, text);
    }))));
  };
  fill();
  const heads = columns.map((column, i) => element("th", { class: column.isText ? "text" : "", scope: "col" },
    element("button", { type: "button", title: "Sort by this", click: () => { state.down = state.by === i ? !state.down : !column.isText; state.by = i; fill(); } }, column.name)));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, heads)), body));
}

function section(id, title, explanation, ...children) {
  return element("section", { id }, element("h2", {}, title), explanation ? element("p", { class: "quiet" }, explanation) : null, children);
}

// A choice of one of the names; `changed` is called with its index, at first with 0.
function chooser(label, names, changed) {
  const select = element("select", { change: () => changed(select.selectedIndex) }, names.map((name) => element("option", {}, name)));
  if (names.length < 2) return null;
  return element("label", {}, label + " ", select);
}
