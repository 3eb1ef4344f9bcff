#!/usr/bin/env bash
# Drives dynrun select, explain --measure and --policy: a tiny suite with few rounds. Which policy is faster is nobody's test.
#   tests/cli/select.sh BUILD_DIR
. "$(dirname "$0")/../support/cli.sh" "$@"

quick=(--rounds 2 --slice-ms 0.1)
policies=(dyn vortex mikpoly ftuner tscompiler dietcode vendor oracle)
printf '# a comment\nM N K\n1 64 96\n7 40 32   # odd\n0 8 8\n1 1 1\n' >"$scratch/tiny.txt"
printf 'M N K TA TB\n5 33 48 N T\n9 16 0 N N\n' >"$scratch/fresh.txt"

expect "select: help" 0 "gemm-transformer" select --help
expect "select: no problems" 2 "required" select
expect "select: an unknown policy" 1 'no policy "abacus"; there are dyn, vortex, mikpoly, ftuner, tscompiler, dietcode, vendor, oracle' \
  select "$scratch/tiny.txt" --policies dyn,abacus
expect "select: a policy twice" 1 "vortex is listed twice" select "$scratch/tiny.txt" --policies vortex,dyn,vortex
printf 'M N K\n4 5 6\n4 five 6\n' >"$scratch/broken.txt"
printf 'softmax M N\n4 5\n' >"$scratch/table.txt"
expect "select: a broken line of a suite" 1 "broken.txt:3: N is \"five\"" select "$scratch/tiny.txt" "$scratch/broken.txt"
has "select: the line's text" "^  4 five 6"
expect "select: no such suite" 1 "nowhere.txt: cannot be read" select "$scratch/nowhere.txt"
expect "select: a suite of no known problem" 1 "table.txt:1: the columns are those of no problem" select "$scratch/table.txt"
expect "select: a plot that cannot be written, before anything is measured" 1 "plot.svg: cannot be written" \
  select "$(dirname "$0")/../bench/suites/gemm-deepbench.txt" --rounds 1000 --slice-ms 60000 --plot "$scratch/nowhere/plot.svg"
expect "select: types and a suite" 1 "give an OPERATOR and the TYPES" select "$scratch/tiny.txt" matmul "f32[M,8] x f32[8,4]"
expect "select: random shapes need a suite's ranges" 1 "SUITE files" select matmul "f32[M,8] x f32[8,4]" --dims M=3 --random 2

expect "select: a suite, csv" 0 "^shape,policy,candidates,program,predicted_ns,measured_ns,choose_ns$" \
  select "$scratch/tiny.txt" --threads 1,2 --format csv --plot "$scratch/plot.svg" "${quick[@]}"
cp "$scratch/out" "$scratch/select.csv"
lines=$(grep -cv '^#' "$scratch/select.csv")
report "select: a row for each shape, number of threads and policy" "$([ "$lines" -eq $((1 + 4 * 2 * 8)) ] || echo "$lines lines")"
# Fields as a CSV reader has them: quoted programs hold commas.
check "select: seven fields in every row, times where there is a program" python3 - "$scratch/select.csv" <<'END'
import csv, sys
rows = list(csv.DictReader(line for line in open(sys.argv[1]) if not line.startswith("#")))
for row in rows:
    assert None not in row and None not in row.values(), row
    if row["program"].startswith("none: "):
        assert row["candidates"] == "0" and not row["measured_ns"] and not row["predicted_ns"], row
        continue
    assert int(row["candidates"]) > 0 and float(row["measured_ns"]) > 0, row
    assert not row["predicted_ns"] or float(row["predicted_ns"]) > 0, row
    assert (float(row["choose_ns"]) > 0) if row["policy"] != "oracle" else not row["choose_ns"], row
empty = [row for row in rows if row["shape"].startswith("M=0 ")]
assert len(empty) == 16 and all(row["program"] == "none: there is nothing to compute" for row in empty), empty
for shape in {row["shape"] for row in rows}:
    here = {row["policy"]: int(row["candidates"]) for row in rows if row["shape"] == shape}
    assert here["oracle"] >= here["dyn"] and here["oracle"] <= sum(here.values()) - here["oracle"], here
    assert here["dyn"] > 0 or shape.startswith("M=0 "), shape
END
for policy in "${policies[@]}"; do
  check "select: a summary of $policy for both numbers of threads" bash -c \
    '[ "$(grep -c "^# summary=$0 suite=tiny threads=[12] shapes=[0-9] times=measured" "$1")" -eq 2 ]' "$policy" "$scratch/select.csv"
done
has "select: what a summary says of dyn" "^# summary=dyn .*geometric_mean=[0-9.]+ p5=[0-9.]+ worst=[0-9.]+ share_best=[0-9.]+ candidates=[0-9.]+ choose_ns=.* choose_ns_p95=.* remembered_ns=.* remembered_ns_p95=.* worst_shape=M="
check "select: the plot has two panels and is closed" bash -c \
  'grep -q "1 thread<" "$0" && grep -q "2 threads<" "$0" && grep -q "<polyline" "$0" && tail -1 "$0" | grep -q "^</svg>$"' "$scratch/plot.svg"

expect "select: fresh operands and a reduction of nothing, json" 0 '"summary": "dyn"' select "$scratch/fresh.txt" --policies dyn,oracle --threads 1 --format json "${quick[@]}"
expect "select: what the load did not measure is measured when it is asked" 0 "M=5 threads=1 \| vortex-empirical +\| +[1-9]" select matmul "f32[M,96] x const f32[96,64]" --dims M=5 \
  --policies vortex-empirical,mikpoly-wave,dietcode-partition --threads 1 --isa sse2 "${quick[@]}"
report "select: so that each policy has a program" "$(grep "none:" "$scratch/out")"
expect "select: types as for op" 0 "M=3 K=8 threads=1 +\| dyn " select matmul "f32[M,K] x f32[K,5]" --dims M=2,3 --dims K=8 --policies dyn --threads 1 "${quick[@]}"
expect "select: random shapes, their own suite, and all together" 0 "^# summary=dyn suite=random threads=1 shapes=3" \
  select "$scratch/tiny.txt" --random 3 --seed 5 --policies dyn,oracle --threads 1 --format csv "${quick[@]}"
has "select: all suites together" "^# summary=dyn suite=all threads=1 shapes=6"
rows_of() { grep -v '^#' "$scratch/out" | cut -d, -f1 | sort -u; }
first=$(rows_of)
expect "select: random shapes again" 0 "^M=" select "$scratch/tiny.txt" --random 3 --seed 5 --policies dyn,oracle --threads 1 --format csv "${quick[@]}"
report "select: a seed's shapes are the same again" "$([ "$first" = "$(rows_of)" ] || echo "they differ")"
expect "select: random shapes alone, small ones" 0 "^# summary=dyn suite=random" \
  select "$scratch/tiny.txt" --random 12 --random-only --most-gflop 1e-5 --seed 5 --policies dyn,oracle --threads 1 --format csv "${quick[@]}"
report "select: no shape has more operations than asked, and none is the suite's" \
  "$(rows_of | sed -nE 's/^M=([0-9]+) N=([0-9]+) K=([0-9]+) .*/\1 \2 \3/p' | awk '2 * $1 * $2 * $3 > 10000 || !NR { print }')"
said=$(sed -nE 's/^left out: ([0-9]+) problems of more than 1e-05 GFLOP$/\1/p' "$scratch/err")
report "select: it says how many it left out" "$([ $((said + $(rows_of | grep -c '^M='))) -eq 12 ] || echo "${said:-none}")"
expect "select: no problem is small enough" 1 "raise --most-gflop" select "$scratch/tiny.txt" --random 2 --random-only --most-gflop 1e-12 --threads 1
expect "select: a limit that is no number" 2 "most-gflop: 'nan' is not a number from" select "$scratch/tiny.txt" --most-gflop nan --threads 1
expect "select: a slice that is no number" 2 "slice-ms: 'nan' is not a number from 0.01 to 60000" select "$scratch/tiny.txt" --slice-ms nan --threads 1
expect "select: a negative seed" 2 "seed: '-1' is not a whole number from 0 to" select "$scratch/tiny.txt" --seed -1 --threads 1
expect "select: a seed beyond 64 bits" 2 "seed: '18446744073709551616' is not a whole number from 0 to" select "$scratch/tiny.txt" --seed 18446744073709551616 --threads 1
expect "select: random shapes alone, but none" 1 "random-only needs --random" select "$scratch/tiny.txt" --random-only --threads 1
expect "select: a policy alone, weights in bf16" 0 "M=7 N=40 K=32 threads=1 +\| vortex" select "$scratch/tiny.txt" --policies vortex --threads 1 --weights bf16 "${quick[@]}"

# Convolutions, one of a group for each channel; a batch of matmuls; attention. Every policy has a program or says why not.
printf 'IC IH IW OC KH KW SH SW PT PL PB PR G\n3 9 8 16 3 3 2 2 1 1 1 1 1\n8 6 6 8 3 3 1 1 0 0 0 0 8\n' >"$scratch/conv.txt"
printf 'B M N K TA TB\n3 5,17 =M 24 N T\n' >"$scratch/batch.txt"
printf 'B H Q S D DV MASK\n1 2 5,1 40 16 8 causal\n' >"$scratch/attention.txt"
kinds=("$scratch/conv.txt" "$scratch/batch.txt" "$scratch/attention.txt")
every_policy_answers() {  # CSV MEASURED, 1 where vendor may have programs
  python3 - "$@" <<'END'
import csv, sys
rows = list(csv.DictReader(line for line in open(sys.argv[1]) if not line.startswith("#")))
papers = {"vortex", "mikpoly", "ftuner", "tscompiler", "dietcode"}
assert {row["policy"] for row in rows} == papers | {"dyn", "vendor", "oracle"}
kinds = {"depthwise": 0, "conv": 0, "batch": 0, "attention": 0}
for row in rows:
    shape = row["shape"]
    kind = ("attention" if " Q=" in shape else "batch" if shape.startswith("B=") else
            "depthwise" if " IC=8 " in shape else "conv")
    kinds[kind] += 1
    none = row["program"].startswith("none: ")
    assert none == (row["candidates"] == "0") == (not row["measured_ns"]), row
    assert not none or len(row["program"]) > len("none: it"), row
    if kind == "depthwise":
        assert row["program"] == "none: there is one way to run it", row
    elif row["policy"] in ("dyn", "oracle"):
        assert not none, row
    elif kind == "attention" and row["policy"] in papers:
        assert row["program"].startswith("none: the paper defines no choice for attention"), row
    elif row["policy"] in papers:
        assert not none, row
assert kinds == {"depthwise": 8, "conv": 8, "batch": 16, "attention": 16}, kinds
END
}
expect "select: convolutions, batches of matmuls and attention" 0 "^# summary=dyn suite=attention threads=2 shapes=2" \
  select "${kinds[@]}" --dims N=2 --threads 2 --format csv "${quick[@]}"
cp "$scratch/out" "$scratch/kinds.csv"
check "select: each policy has a program of each kind, or says why not" every_policy_answers "$scratch/kinds.csv"
expect "select: the same on a described GPU" 0 "^# summary=dyn suite=attention threads=1 shapes=2 times=predicted" \
  select "${kinds[@]}" --dims N=2 --device cuda --gpu a100 --format csv
cp "$scratch/out" "$scratch/kinds.csv"
check "select: each policy has a program there, or says why not" every_policy_answers "$scratch/kinds.csv"
for kind in conv batch attention; do
  expect "select: random problems like those of $kind" 0 "^# summary=dyn suite=random threads=1 shapes=[0-4] " \
    select "$scratch/$kind.txt" --random 4 --random-only --seed 3 --policies dyn,oracle --threads 1 --format csv "${quick[@]}"
done
expect "select: attention by its types" 0 "Q=3 S=4 threads=1 +\| vortex +\| +0 +\| none: the paper" \
  select attention "f32[2,Q,8] x f32[2,S,8] x f32[2,S,8]" --dims Q=3 --dims S=4 --policies dyn,vortex --threads 1 "${quick[@]}"

expect "select: a described GPU: nothing is run, and the summary says so" 0 "^# summary=dyn suite=tiny threads=1 shapes=3 times=predicted" \
  select "$scratch/tiny.txt" --device cuda --gpu a100 --policies dyn,vortex,oracle --format csv
expect "select: no peers beside predictions" 1 "device 'cpu' only" select "$scratch/tiny.txt" --device cuda --gpu a100 --peers onednn

cat >"$scratch/fake.sh" <<'END'
while read -r word _; do
  case $word in hello) echo "ok fake 1" ;; time) echo "ok 1000 1" ;; *) echo ok ;; esac
done
END
expect "select: the oracle beside a peer" 0 "^# summary=oracle suite=tiny threads=1 shapes=3 times=measured candidates=.* peer_shapes=3 peer_time_over_oracle=[1-9]" \
  select "$scratch/tiny.txt" --policies dyn,oracle --threads 1 --format csv --peers "fake=exec:bash $scratch/fake.sh" "${quick[@]}"

# The oracle in runs, and explain.
cat >"$scratch/two.dyn" <<'END'
dyn 1
dim S in 1..64
weight table: f32[7, 24] = random 3
weight w: f32[24, 40] = random 1
weight v: f32[40, 12] = random 2
graph two(ids: i64[S]) -> (y: f32[S, 12]) {
  return matmul(gelu(matmul(gather(table, ids) axis=0, w)), v)
}
END
for policy in dyn "${policies[@]}"; do
  expect "policy $policy: run" 0 "^y,f32" run "$scratch/two.dyn" --dims S=5 --policy "$policy" --save-outputs "$scratch/$policy" --format csv
done
for policy in "${policies[@]}"; do
  check "policy $policy: computes what dyn computes" python3 - "$scratch/dyn/y.npy" "$scratch/$policy/y.npy" <<'END'
import struct, sys
def values(path):
    data = open(path, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])
expected, actual = map(values, sys.argv[1:])
assert len(expected) == 60 and all(abs(x - y) <= 1e-5 + 1e-5 * abs(x) for x, y in zip(expected, actual)), (expected, actual)
END
done
expect "policy: unknown" 1 "no policy 'abacus'" run "$scratch/two.dyn" --dims S=5 --policy abacus
expect "policy oracle: not on another device" 1 "device 'cpu' only" run "$scratch/two.dyn" --dims S=5 --policy oracle --device reference
expect "policy oracle: bench" 0 "^two,5,1,cpu/" bench "$scratch/two.dyn" --dims S=5 --policy oracle --threads 1 --iterations 3 --skip-load --format csv
expect "explain --measure: predicted and measured" 0 "rank .* predicted_us .* measured_us .* chosen by .* program" explain "$scratch/two.dyn" --dims S=5 --threads 1 --measure
has "explain --measure: who chooses" "\| [^|]*dyn[ |]"
expect "explain --measure: one group" 0 "^[a-z_]*matmul" explain "$scratch/two.dyn" --dims S=5 --threads 1 --measure --group "$(grep -oE '^[a-z0-9_]*matmul[a-z0-9_]*' "$scratch/out" | head -1)"
expect "explain --measure: no such group" 1 "no such group" explain "$scratch/two.dyn" --dims S=5 --measure --group abacus
expect "explain --measure: not on another device" 1 "device 'cpu' only" explain "$scratch/two.dyn" --dims S=5 --measure --device cuda --gpu a100

finish
