#!/usr/bin/env bash
# Drives dynrun report and bench --trace, and looks at the pages in headless Chromium: what the script draws, in every kind of page.
#   tests/cli/report.sh BUILD_DIR
# KEEP=DIR keeps the pages and a picture of each there, light and dark, wide and narrow.
. "$(dirname "$0")/../support/cli.sh" "$@"
cd "$(dirname "$0")" || exit

# The machine's figures, so that nothing is measured here.
mkdir -p "$scratch/bin"
cp "$dynrun" "$scratch/bin/dynrun"
cat >"$scratch/bin/dyn-peak" <<'END'
#!/bin/sh
echo '{"isa": "none", "cache_bytes": [32768, 524288, 1048576], "figures": [{"threads": 1, "gflops": 100, "l2_gb_per_s": 90, "dram_gb_per_s": 10},'
echo '{"threads": 2, "gflops": 200, "l2_gb_per_s": 180, "dram_gb_per_s": 15}]}'
END
chmod +x "$scratch/bin/dyn-peak"
dynrun=$scratch/bin/dynrun
quick=(--iterations 3 --warmup 0 --skip-load)

# A chain of groups; names as files bring them.
cat >"$scratch/wide.py" <<'END'
import sys
groups = int(sys.argv[1])
print("dyn 1\ndim S in 1..512\n" + "".join(f"weight w{i}: f32[16, 16] = random {i}\n" for i in range(groups)) + "graph wide(x: f32[S, 16]) -> (y: f32[S, 16]) {")
for i in range(groups):
    print(f"  {'y' if i == groups - 1 else f'h{i}'} = matmul({'x' if i == 0 else f'h{i - 1}'}, w{i})")
print("  return y\n}")
END
python3 "$scratch/wide.py" 300 >"$scratch/wide.dyn"
python3 "$scratch/wide.py" 1 >"$scratch/a <b>&\"c\"'d.dyn"
cat >"$scratch/busy.dyn" <<'END'
dyn 1
dim S in 1..512
weight w: f32[256, 256] = random 1
graph busy(x: f32[S, 256]) -> (y: f32[S, 256]) {
  y = softmax(matmul(gelu(matmul(x, w)), w)) axis=-1
  return y
}
END
cat >"$scratch/sizes.dyn" <<'END'
dyn 1
dim N
dim K
graph sizes(x: f32[N]) -> (y: f32[_]) {
  at = nonzero(x) count=K
  y = exp(cast(reshape(at) shape=[K]) dtype=f32)
  return y
}
END
cat >"$scratch/peer.sh" <<'END'
#!/usr/bin/env bash
while read -r word rest; do
  printf '%s %s\n' "$word" "$rest" >>"$1"
  case $word in
    hello) echo "ok fake 1.0" ;;
    time) echo "ok 1000 1" ;;
    *) echo ok ;;
  esac
done
END

expect "report: help" 0 "--compare before.html after.html" report --help
expect "report: no file" 2 "output" report model.dyn
expect "report: nothing to report" 1 "give one of: a MODEL, --from REPORT, or --compare" report -o "$scratch/x.html"
expect "report: two things to report" 1 "give one of" report model.dyn --from x -o "$scratch/x.html"
expect "report: one report to compare" 2 "compare" report --compare x -o "$scratch/x.html"
expect "report: no such folder" 1 "there is no such folder" report model.dyn -o /nonexistent/x.html
expect "report: from what is no report" 1 "model.dyn: it holds no report of one model; give a page or data of dynrun report" report --from model.dyn -o "$scratch/x.html"
expect "report: from no file" 1 "nowhere.html" report --from nowhere.html -o "$scratch/x.html"
check "report: nothing is left of those" bash -c "! ls '$scratch'/x.html*"

page() { expect "report: $1" 0 "^$scratch/$1.html$" report "${@:2}" -o "$scratch/$1.html"; }
page shapes model.dyn --dims B=1,2 --dims S=1..64*4 --threads 1,2 "${quick[@]}" --peers "other=exec:bash $scratch/peer.sh $scratch/peer.log"
page one "$scratch/a <b>&\"c\"'d.dyn" --dims S=3 "${quick[@]}"
page wide "$scratch/wide.dyn" --dims S=8,16 "${quick[@]}"
page busy "$scratch/busy.dyn" --dims S=512 --threads 2 "${quick[@]}"
page sizes "$scratch/sizes.dyn" --dims N=9 "${quick[@]}"
page reference model.dyn --dims B=1 --device reference "${quick[@]}"
page emulated model.dyn --dims B=1 --dims S=3 --device emulator "${quick[@]}"
page loads model.dyn --dims B=1 --iterations 3 --warmup 0
check "report: nothing on stderr away from a terminal" bash -c "[ ! -s '$scratch/err' ]"
check "report: a peer gets the model's file, inputs and outputs" grep -qE "problem model copies=1 @file=/.*/tests/cli/model.dyn input=i64:2x64 input=f32:2x64 output=f32:2x64x3$" "$scratch/peer.log"
expect "report: its data" 0 "shapes.json" report --from "$scratch/shapes.html" -o "$scratch/shapes.json"
check "report: the data is JSON of all shapes" python3 - "$scratch/shapes.json" <<'END'
import json, sys
data = json.load(open(sys.argv[1]))
assert len(data["shapes"]) == 2 * 4 * 2, len(data["shapes"])
for shape in data["shapes"]:
    run = shape["run"]
    assert shape["peers"]["other"] > 0 and shape["times"]["peer_base_s"] > 0
    assert run["duration_ns"] > 0 and len(run["events"]) == len(run["groups"])
    assert sum(end - start for _, _, start, end in run["events"]) <= run["duration_ns"]
    assert sum(slice[6] - slice[5] for slice in run["slices"]) <= run["duration_ns"] * run["threads"]
    assert all(choice["groups"] and choice["text"] for choice in shape["choices"])
END
expect "report: written again" 0 "again.html" report --from "$scratch/shapes.json" -o "$scratch/again.html"
check "report: written again it is the same" cmp "$scratch/shapes.html" "$scratch/again.html"
expect "report: two compared" 0 "compared.html" report --compare "$scratch/shapes.html" "$scratch/shapes.json" -o "$scratch/compared.html"
expect "report: two that share no shape compared" 0 "unlike.html" report --compare "$scratch/shapes.html" "$scratch/one.html" -o "$scratch/unlike.html"
expect "report: a comparison is no report" 1 "no report of one model" report --from "$scratch/compared.html" -o "$scratch/x.html"

"$dynrun" bench model.dyn --dims B=2 --dims S=64 --threads 1,2 "${quick[@]}" --trace "$scratch/trace.json" >"$scratch/out" 2>"$scratch/err"
check "trace: tracks that do not overlap, within the run" python3 - "$scratch/trace.json" <<'END'
import json, sys
trace = json.load(open(sys.argv[1]))
assert set(trace) == {"traceEvents", "displayTimeUnit"}
tracks, names = {}, []
for event in trace["traceEvents"]:
    assert event["ph"] in "MXC" and isinstance(event["name"], str) and isinstance(event["pid"], int), event
    if event["ph"] == "M" and event["name"] == "process_name":
        names.append(event["args"]["name"])
    if event["ph"] == "X":
        tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], -event["dur"], event["cat"]))
assert names == ["B=2 S=64 threads=1", "B=2 S=64 threads=2"], names
for (process, thread), spans in tracks.items():
    run = [span for span in tracks[process, 0] if span[2] == "run"]
    assert len(run) == 1
    open_ends = []
    for start, negative, category in sorted(spans):
        end = start - negative
        assert run[0][0] <= start and end <= run[0][0] - run[0][1] + 1e-3, (start, end, run)
        while open_ends and open_ends[-1] <= start + 1e-4:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1] + 1e-4, (process, thread, start, end)
        open_ends.append(end)
    busy = sum(-negative for _, negative, category in spans if category == "tickets")
    assert busy <= -run[0][1] + 1e-3
END
expect "trace: a model whose run decides sizes" 0 "" bench "$scratch/sizes.dyn" --dims N=9 "${quick[@]}" --trace "$scratch/trace_sizes.json"
check "trace: it has the host's operators" grep -q '"nonzero (line 5)"' "$scratch/trace_sizes.json"

check "profile: what runs without one pay is measured" bash -c "python3 ../bench/profile_cost.py '$dynrun' '$dynrun' --rounds 1 --runs 100 | grep -qE '^ +30 +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$'"

# A terminal on stderr, as users have it; what is left of its last line is nothing.
cat >"$scratch/terminal.py" <<'END'
import os, pty, subprocess, sys
master, slave = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
os.close(slave)
text = b""
while True:
    try:
        part = os.read(master, 4096)
    except OSError:
        break
    if not part:
        break
    text += part
process.wait()
text = text.decode().replace("\r\n", "\n")
lines = [line.split("\r\x1b[K") for line in text.split("\n")]
print("shown:", " | ".join(part for line in lines for part in line[:-1] if part))
print("left:", "|".join(line[-1] for line in lines))
END
on_terminal() { python3 "$scratch/terminal.py" "$dynrun" "$@" >"$scratch/out" 2>"$scratch/err"; }
on_terminal bench model.dyn --dims B=1,2 "${quick[@]}"
has "progress: the load and each shape" "^shown: loading model.dyn \| loading model.dyn: [a-z]+.* \| .*shape 1 of 2, threads [0-9]+ \| shape 2 of 2"
has "progress: it is cleared in the end" "^left: $"
on_terminal report model.dyn --dims B=1 "${quick[@]}" -o "$scratch/x.html"
has "progress: of a report" "^shown: .*shape 1 of 1"
has "progress: it is cleared after a report" "^left: $"
on_terminal run nowhere.dyn --dims B=1
has "progress: an error stands on a line of its own" "^left: dynrun: error: .*nowhere.dyn"
"$dynrun" bench model.dyn --dims B=1,2 "${quick[@]}" >"$scratch/out" 2>"$scratch/err"
check "progress: none in a pipe" bash -c "! grep -q $'\r' '$scratch/out' '$scratch/err' && [ ! -s '$scratch/err' ]"

chromium=$(command -v chromium || true)
if [ -z "$chromium" ]; then
  echo "skipped report.chromium: chromium is not installed (scripts/install_packages.sh --tests)"
  finish
fi
browser() {  # FLAGS... : stdout is the flag's, stderr has the page's console
  timeout 120 "$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/chromium" \
    --virtual-time-budget=5000 --enable-logging=stderr "$@" 2>"$scratch/err"
}
# sees PAGE PATTERN...: the page as its script has drawn it has each pattern, nothing that a script wrote by mistake, and no message.
sees() {
  local name=$1 pattern lacks=""
  shift
  browser --dump-dom "file://$scratch/$name.html" | sed '/^<script/,$d' >"$scratch/out"
  for pattern in "$@"; do
    tr -d '\n' <"$scratch/out" | grep -qE -- "$pattern" || lacks+=" $pattern"
  done
  if grep -qE 'NaN|undefined|\[object' "$scratch/out"; then lacks+=" (has NaN, undefined or [object)"; fi
  if grep -q 'CONSOLE' "$scratch/err"; then lacks+=" ($(grep -m1 CONSOLE "$scratch/err"))"; fi
  : >"$scratch/err"
  report "chromium: $name" "$lacks"
  [ -z "${KEEP:-}" ] || pictures "$name"
}
pictures() {
  local flags
  mkdir -p "$KEEP"
  cp "$scratch/$1.html" "$KEEP/"
  browser --window-size=1200,3200 --screenshot="$KEEP/$1.png" "file://$scratch/$1.html" >/dev/null
  browser --window-size=1200,3200 --force-dark-mode --screenshot="$KEEP/$1.dark.png" "file://$scratch/$1.html" >/dev/null
  browser --window-size=500,4200 --screenshot="$KEEP/$1.narrow.png" "file://$scratch/$1.html" >/dev/null
}
all_sections='id="latency".*id="timeline".*id="groups".*id="roofline".*id="memory".*id="choices".*id="load".*id="data"'
sees shapes "$all_sections" '<option>B=1 threads=1</option>' '<option>B=2 S=64, 2 threads</option>' 'stroke="var\(--c1\)"' '<td class="better">' 'f32 100 GFLOP/s' 'matmul_0: [0-9.e-]+ GFLOP/s' 'The arena on the host has' '<summary>'
sees one "$all_sections" "<h1>a &lt;b&gt;&amp;\"c\"'d</h1>" 'Nothing to show: the model has no intermediate' 'limit of the machine'
sees wide "$all_sections" 'h298|matmul_299' 'and [0-9]+ more</summary>'
sees busy '>helper 1<' 'f32 200 GFLOP/s' 'Threads worked on tickets for'
sees sizes "$all_sections" '>nonzero \(line 5\)<' 'on the host' 'There is one way to run each group'
sees reference "$all_sections" '>the whole graph<'
sees emulated "$all_sections" 'The arena on the device has'
sees loads '>cached</td>' 'compile: [0-9.]+ ' 'the rest: '
sees compared 'B takes 1.00 times the time of A, in the geometric mean of 16 shapes' '<td class="">1.00</td>' '>the same<'
sees unlike 'No shape is in both reports'
finish
