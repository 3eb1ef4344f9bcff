#!/usr/bin/env bash
# Drives dynrun tune and --tuning on tiny budgets. How much tuning gains is nobody's test.
#   tests/cli/tune.sh BUILD_DIR
. "$(dirname "$0")/../support/cli.sh" "$@"

quick=(--threads 1 --slice-ms 0.05 --rounds 2)
file=$scratch/tuned.json
printf 'M N K\n5 64 96\n0 8 8\n' >"$scratch/tiny.txt"
cat >"$scratch/net.dyn" <<'END'
dyn 1
dim M in 1..64 hint 5
weight w: f32[96, 64] = random 1
graph net(x: f32[M, 96]) -> (y: f32[M, 64]) {
  h = matmul(x, w)
  y = relu(h)
  return y
}
END

# Facts of a file, as a JSON reader has them: an expression over `tuning` and `problem`, its first problem.
is() { # name, expression
  check "$1" python3 - "$file" "$2" <<'END'
import json, sys
tuning = json.load(open(sys.argv[1]))
problem = next(iter(tuning["problems"]), None)
if not eval(sys.argv[2]):
    sys.exit(f"not so: {sys.argv[2]}\n{json.dumps(tuning)[:2000]}")
END
}

expect "tune: help" 0 "bayes: .*; evolution: .*; random: " tune --help
expect "tune: no file to write" 2 "output is required" tune "$scratch/tiny.txt"
expect "tune: an unknown method" 2 "not in \{bayes,evolution,random\}" tune "$scratch/tiny.txt" -o "$file" --method grid
expect "tune: a budget of nothing" 1 "budget 0: nothing would be tried; give a number of programs" tune "$scratch/tiny.txt" -o "$file" --budget 0
expect "tune: a budget of no time" 1 "budget 0s: nothing would be tried" tune "$scratch/tiny.txt" -o "$file" --budget 0s
expect "tune: a negative budget" 1 "nothing would be tried" tune "$scratch/tiny.txt" -o "$file" --budget=-3
expect "tune: a budget that is no number" 1 "budget many: that is no number" tune "$scratch/tiny.txt" -o "$file" --budget many
expect "tune: a budget in an unknown unit" 1 "units of time are s, m and h" tune "$scratch/tiny.txt" -o "$file" --budget 3days
printf 'X Y Z\n1 2 3\n' >"$scratch/strange.txt"
expect "tune: a suite of unknown columns" 1 "strange.txt:1" tune "$scratch/strange.txt" -o "$file"
expect "tune: a file that cannot be written" 1 "nowhere/tuned.json cannot be written" tune "$scratch/tiny.txt" -o "$scratch/nowhere/tuned.json" --budget 4 "${quick[@]}"
report "tune: an error leaves no file" "$([ ! -e "$file" ] || echo "$file is there")"

printf 'M N K\n0 8 8\n' >"$scratch/empty.txt"
expect "tune: problems of nothing" 1 "nothing to tune: none of the problems has several programs" tune "$scratch/empty.txt" -o "$file" "${quick[@]}"

for method in bayes evolution random; do
  rm -f "$file"
  expect "tune: a suite by $method" 0 "^\| matmul M=5 N=64 K=96 +\| +1 +\| +30 " tune "$scratch/tiny.txt" -o "$file" --budget 30 --method $method --seed 3 "${quick[@]}"
  is "tune: the file of $method" "tuning['method'] == '$method' and tuning['seed'] == 3 and tuning['model'] is None and tuning['times'] == 'measured' and len(tuning['problems']) == 1"
  is "tune: what $method tried" "len(problem['trials']) == 30 and len({tuple(point) for ratio, point in problem['trials']}) == 30 and all(ratio > 0 and len(point) == len(problem['axes']) for ratio, point in problem['trials'])"
  is "tune: $method is compared with dyn's choice" "problem['scored'] and problem['dyn']['seconds'] > 0 and problem['best']['seconds'] > 0"
done

# The same command has nothing to do; a larger budget goes on.
cp "$file" "$scratch/before.json"
expect "tune: a finished search" 0 "\| +30 " tune "$scratch/tiny.txt" -o "$file" --budget 30 --method random --seed 3 "${quick[@]}"
check "tune: a finished search changes nothing" cmp "$file" "$scratch/before.json"
expect "tune: a larger budget" 0 "\| +37 " tune "$scratch/tiny.txt" -o "$file" --budget 37 --method random --seed 3 "${quick[@]}"
check "tune: what was tried stays" python3 - "$scratch/before.json" "$file" <<'END'
import json, sys
before, after = (json.load(open(path))["problems"][0]["trials"] for path in sys.argv[1:])
assert len(after) == 37 and after[:30] == before
END
expect "tune: another method on the same file" 1 "cannot be resumed: its method is 'random', now it is 'bayes'" tune "$scratch/tiny.txt" -o "$file" --budget 40 --seed 3 "${quick[@]}"
expect "tune: another seed on the same file" 1 "cannot be resumed: its seed is '3', now it is '4'" tune "$scratch/tiny.txt" -o "$file" --budget 40 --method random --seed 4 "${quick[@]}"
printf 'M N K\n7 48 32\n' >"$scratch/other.txt"
expect "tune: another suite into the same file, for a time" 0 "matmul M=7 N=48 K=32" tune "$scratch/other.txt" -o "$file" --budget 0.2s --method random --seed 3 "${quick[@]}"
check "tune: the first suite's problems stay" grep -q '"name":"matmul M=5 N=64 K=96"' "$file"

# A signal ends it with what it has.
rm -f "$file"
"$dynrun" tune "$scratch/tiny.txt" -o "$file" --budget 1h "${quick[@]}" >"$scratch/out" 2>"$scratch/err" &
tuner=$!
for _ in $(seq 200); do [ -s "$file" ] && break; sleep 0.1; done
sleep 0.3
kill -INT $tuner
wait $tuner
report "tune: a signal ends it as usual" "$([ $? -eq 0 ] || echo "another exit code")"
has "tune: it says that it was stopped" "stopped by a signal; the same command goes on from"
has "tune: and what it has so far" "matmul M=5 N=64 K=96"
is "tune: the file of a stopped search" "len(problem['trials']) > 0 and problem['best']['seconds'] > 0"
expect "tune: a stopped search goes on" 0 "matmul M=5 N=64 K=96" tune "$scratch/tiny.txt" -o "$file" --budget 1s "${quick[@]}"

# A model, and what it makes of the file.
rm -f "$file"
expect "tune: a model" 0 "M=5 " tune "$scratch/net.dyn" --dims M=5 -o "$file" --budget 20 "${quick[@]}"
is "tune: the file of a model" "tuning['model'] == 'net' and len(problem['trials']) == 20"
# Whatever the machine: the last program that was tried is to be taken.
check "tune: a file with a certain program" python3 - "$file" <<'END'
import json, sys
tuning = json.load(open(sys.argv[1]))
problem = next(iter(tuning["problems"]), None)
sizes = problem["sizes"]
program = problem.get("program")
if program is None:
    strategy = [0, sizes["m"], 0, sizes["n"], 1, 32 if "avx512" in tuning["target"] else 16 if "avx2" in tuning["target"] else 8,
                2, sizes["n"], sizes["k"], 1, sizes["must_copy_a"], sizes["lanes"], False, False]
    program = [1, [strategy]]
problem["program"], problem["program_sizes"] = program, problem.get("program_sizes", sizes)
problem["best"]["seconds"] = 123.456e-6
json.dump(tuning, open(sys.argv[1], "w"))
END
expect "tuning: explain shows the file's program" 0 "by the tuning file" explain "$scratch/net.dyn" --dims M=5 --threads 1 --tuning "$file"
has "tuning: with its time" "chosen 123.5 us measured by the tuner: "
expect "tuning: another size is as before" 0 "chosen" explain "$scratch/net.dyn" --dims M=6 --threads 1 --tuning "$file"
report "tuning: the file says nothing of it" "$(grep "by the tuning file" "$scratch/out")"
expect "tuning: a run" 0 "y " run "$scratch/net.dyn" --dims M=5 --threads 1 --tuning "$file"
cp "$scratch/out" "$scratch/tuned.out"
expect "tuning: the same run without it" 0 "y " run "$scratch/net.dyn" --dims M=5 --threads 1
check "tuning: with the same results" cmp "$scratch/out" "$scratch/tuned.out"
expect "tuning: a policy of a paper" 1 "but the policy is 'vortex'; policies 'dyn' and 'oracle' take tuned programs" run "$scratch/net.dyn" --dims M=5 --tuning "$file" --policy vortex
sed 's/"net"/"bert"/' "$file" >"$scratch/wrong.json"
expect "tuning: a file of another model" 1 "was made for the model 'bert', not for 'net'" run "$scratch/net.dyn" --dims M=5 --tuning "$scratch/wrong.json"
sed -E 's/"machine": *"[^"]*"/"machine": "an abacus"/' "$file" >"$scratch/wrong.json"
expect "tuning: a file of another machine" 1 "on 'an abacus', but this is cpu/" run "$scratch/net.dyn" --dims M=5 --tuning "$scratch/wrong.json"
sed -E 's/"version": *"[^"]*"/"version": "dyn 0.0.0"/' "$file" >"$scratch/wrong.json"
expect "tuning: a file of another version" 1 "was made by dyn 0.0.0, but this is dyn" run "$scratch/net.dyn" --dims M=5 --tuning "$scratch/wrong.json"
head -c 300 "$file" >"$scratch/wrong.json"
expect "tuning: a broken file" 1 "is no tuning file: .*dynrun tune makes one" run "$scratch/net.dyn" --dims M=5 --tuning "$scratch/wrong.json"
check "tuning: a file whose tile has no code" python3 - "$file" "$scratch/wrong.json" <<'END'
import json, sys
tuning = json.load(open(sys.argv[1]))
tuning["problems"][0]["program"][1][0][4] = 77
json.dump(tuning, open(sys.argv[2], "w"))
END
expect "tuning: a program that no code runs" 1 "program 1: there is no tile of 77" run "$scratch/net.dyn" --dims M=5 --tuning "$scratch/wrong.json"
expect "tuning: no file" 1 "'$scratch/none.json' cannot be read" run "$scratch/net.dyn" --dims M=5 --tuning "$scratch/none.json"

# Micro-kernels of papers' policies, for all problems of a suite together.
file=$scratch/pools.json
printf 'M N K\n1 64 96\n5 64 96\n40 48 96\n' >"$scratch/three.txt"
pool_is() { # name, policy, expression over `pool`
  check "$1" python3 - "$file" "$2" "$3" <<'END'
import json, sys
pool = next(pool for pool in json.load(open(sys.argv[1]))["pools"] if pool["policy"] == sys.argv[2])
if not eval(sys.argv[3]):
    sys.exit(f"not so: {sys.argv[3]}\n{json.dumps(pool)[:2000]}")
END
}
for policy in tscompiler dietcode; do
  expect "tune: micro-kernels of $policy" 0 "^\| $policy +\| +1 +\| f32, B in panels +\| +3 +\| +20 " tune "$scratch/three.txt" --policy $policy --threads 1 --budget 20 -o "$file" --seed 3
  pool_is "tune: the file's micro-kernels of $policy" $policy "pool['threads'] == 1 and pool['seed'] == 3 and sorted(pool['shapes']) == [[1, 1, 64, 96], [1, 5, 64, 96], [1, 40, 48, 96]]"
  pool_is "tune: what $policy measured" $policy "len(pool['measured']) == 20 and len({tuple(one['block']) for one in pool['measured']}) == 20 and 0 < len(pool['kept']) <= 20 and 0 < pool['of_limit']"
  expect "tuning: explain takes the micro-kernels of $policy" 0 "by policy $policy: .*, micro-kernels of the tuning file" explain "$scratch/net.dyn" --dims M=5 --threads 1 --policy $policy --tuning "$file"
  expect "tuning: a run by the micro-kernels of $policy" 0 "y " run "$scratch/net.dyn" --dims M=5 --threads 1 --policy $policy --tuning "$file"
done
cp "$file" "$scratch/pools_before.json"
expect "tune: a finished pool" 0 "\| +20 " tune "$scratch/three.txt" --policy tscompiler --threads 1 --budget 20 -o "$file" --seed 3
check "tune: a finished pool changes nothing" cmp "$file" "$scratch/pools_before.json"
expect "tune: a pool with a larger budget" 0 "\| +27 " tune "$scratch/three.txt" --policy tscompiler --threads 1 --budget 27 -o "$file" --seed 3
check "tune: what was measured stays" python3 - "$scratch/pools_before.json" "$file" <<'END'
import json, sys
before, after = (next(pool for pool in json.load(open(path))["pools"] if pool["policy"] == "tscompiler")["measured"] for path in sys.argv[1:])
assert len(after) == 27 and after[:20] == before
END
expect "tune: programs beside the pools" 0 "matmul M=5 N=64 K=96" tune "$scratch/tiny.txt" --threads 1 --budget 4 -o "$file" --slice-ms 0.05 --rounds 2
pool_is "tune: the pools stay" dietcode "len(pool['measured']) == 20"
expect "tuning: select compares policies with their micro-kernels" 0 "dietcode-partition" select "$scratch/three.txt" --threads 1 --tuning "$file" \
  --policies dyn,tscompiler,dietcode,dietcode-padding,dietcode-partition,oracle --rounds 2 --slice-ms 0.05
report "tuning: each has a program" "$(grep "none:" "$scratch/out")"
expect "tuning: select says what the file lacks" 0 "dyn" select "$scratch/tiny.txt" --threads 1,2 --tuning "$file" --policies dyn,tscompiler --rounds 2 --slice-ms 0.05
has "tuning: for which threads" "note: the tuning file '$file' has micro-kernels of policy 'tscompiler' for 1 threads, but not for 2: there the policy's own blocks are compared"

# Timed with the operands that come.
printf 'M N K TA TB\n5 64 96 N N\n' >"$scratch/fresh.txt"
expect "tune: micro-kernels for right sides that come with the call" 0 "^\| tscompiler +\| +1 +\| f32, B as it lies +\| +1 +\| +5 " tune "$scratch/fresh.txt" --policy tscompiler --threads 1 --budget 5 -o "$scratch/operands.json"
expect "tune: micro-kernels for weights of bf16" 0 "^\| tscompiler +\| +1 +\| bf16, B in panels +\| +3 +\| +5 " tune "$scratch/three.txt" --weights bf16 --policy tscompiler --threads 1 --budget 5 -o "$scratch/operands.json"
check "tune: both stand in the file" python3 - "$scratch/operands.json" <<'END'
import json, sys
operands = [pool["operands"] for pool in json.load(open(sys.argv[1]))["pools"]]
assert operands == [{"factors": "f32", "b": "as it lies"}, {"factors": "bf16", "b": "in panels"}], operands
END
expect "tuning: micro-kernels for weights of bf16" 0 "micro-kernels of the tuning file" explain "$scratch/net.dyn" --dims M=5 --threads 1 --weights bf16 --policy tscompiler --tuning "$scratch/operands.json"
expect "tuning: f32 weights find none" 0 "by policy tscompiler" explain "$scratch/net.dyn" --dims M=5 --threads 1 --policy tscompiler --tuning "$scratch/operands.json"
report "tuning: the policy's own blocks run" "$(grep "micro-kernels of the tuning file" "$scratch/out")"
expect "tune: a pool of another seed" 1 "cannot be resumed: its seed is '3', now it is '4'" tune "$scratch/three.txt" --policy dietcode --threads 1 -o "$file" --seed 4
expect "tune: a pool of other sizes" 1 "cannot be resumed: its micro-kernels of policy 'dietcode' on 1 threads are for other sizes" tune "$scratch/other.txt" --policy dietcode --threads 1 -o "$file" --seed 3
expect "tuning: no micro-kernels for so many threads" 1 "has nothing for policy 'tscompiler' on 2 threads, but micro-kernels for" explain "$scratch/net.dyn" --dims M=5 --threads 2 --policy tscompiler --tuning "$file"
expect "tune: a policy without a search" 1 "no search finds micro-kernels for it; there are dyn, whose programs are searched, and tscompiler, dietcode" tune "$scratch/three.txt" --policy mikpoly -o "$file"
expect "tune: a method beside a paper's" 1 "--method is for policy dyn" tune "$scratch/three.txt" --policy tscompiler --method random -o "$file"
expect "tune: micro-kernels of a GPU into a CPU's file" 1 "cannot be resumed: its target is 'cpu/" tune "$scratch/three.txt" --policy tscompiler --device cuda --gpu a100 -o "$file"
expect "tuning: micro-kernels of a CPU on a GPU" 1 "was made for cpu/.*, but this is cuda/a100" explain "$scratch/net.dyn" --dims M=5 --policy tscompiler --device cuda --gpu a100 --tuning "$file"
expect "tune: micro-kernels for nothing" 1 "none of the problems is computed in blocks that policy 'dietcode' could choose" tune "$scratch/empty.txt" --policy dietcode --threads 1 -o "$scratch/none.json"
rm -f "$file"
expect "tune: micro-kernels for a model" 0 "^\| tscompiler +\| +1 +\| f32, B in panels +\| +2 +\| +6 " tune "$scratch/net.dyn" --dims M=5,7 --threads 1 --policy tscompiler --budget 6 -o "$file"
expect "tuning: a file of micro-kernels alone, with policy dyn" 1 "has nothing for policy 'dyn' on 1 threads, but micro-kernels for 'tscompiler' on 1 threads" run "$scratch/net.dyn" --dims M=5 --threads 1 --tuning "$file"
rm -f "$file"
"$dynrun" tune "$scratch/three.txt" --policy dietcode --threads 1 -o "$file" --budget 1h >"$scratch/out" 2>"$scratch/err" &
tuner=$!
for _ in $(seq 200); do [ -s "$file" ] && break; sleep 0.1; done
kill -INT $tuner
wait $tuner
report "tune: a signal ends the search for micro-kernels as usual" "$([ $? -eq 0 ] || echo "another exit code")"
has "tune: it says so" "stopped by a signal; the same command goes on from"
pool_is "tune: the best so far is kept" dietcode "0 < len(pool['kept'])"

# Described GPUs: by prediction.
file=$scratch/gpu.json
expect "tune: a described GPU" 0 "predicted" tune "$scratch/tiny.txt" -o "$file" --budget 40 --device cuda --gpu a100 --precision f16
is "tune: the file of a described GPU" "tuning['target'] == 'cuda/a100' and tuning['times'] == 'predicted'"

# Their micro-kernels: tiles, whatever the threads of a run.
file=$scratch/gpu_pools.json
gpu=(--device cuda --gpu a100 --precision bf16)
for policy in tscompiler dietcode; do
  expect "tune: tiles of $policy" 0 "^\| $policy +\| +\| +\| +3 +\| +20 " tune "$scratch/three.txt" --policy $policy "${gpu[@]}" --budget 20 -o "$file" --seed 3
  pool_is "tune: the file's tiles of $policy" $policy "pool['threads'] == 0 and len(pool['measured']) == 20 and all(len(one['block']) == 10 for one in pool['measured']) and 0 < len(pool['kept']) <= 20 and 0 < pool['of_limit']"
  expect "tuning: explain takes the tiles of $policy" 0 "by policy $policy, micro-kernels of the tuning file" explain "$scratch/net.dyn" --dims M=5 "${gpu[@]}" --policy $policy --tuning "$file"
done
is "tune: the file of a GPU's tiles" "tuning['target'] == 'cuda/a100' and tuning['times'] == 'predicted'"
cp "$file" "$scratch/pools_before.json"
expect "tune: a finished pool of tiles" 0 "\| +20 " tune "$scratch/three.txt" --policy tscompiler "${gpu[@]}" --budget 20 -o "$file" --seed 3
check "tune: a finished pool of tiles changes nothing" cmp "$file" "$scratch/pools_before.json"
expect "tuning: select compares policies with their tiles" 0 "dietcode-partition" select "$scratch/three.txt" "${gpu[@]}" --tuning "$file" --policies dyn,tscompiler,dietcode,dietcode-padding,dietcode-partition,oracle
report "tuning: each has a tile" "$(grep "none:" "$scratch/out")"
expect "tuning: tiles of another GPU" 1 "was made for cuda/a100 on 'NVIDIA A100.*, but this is cuda/h100" explain "$scratch/net.dyn" --dims M=5 --device cuda --gpu h100 --precision bf16 --policy tscompiler --tuning "$file"
expect "tuning: tiles of a GPU on a CPU" 1 "was made for cuda/a100 on .*, but this is cpu/" run "$scratch/net.dyn" --dims M=5 --policy tscompiler --tuning "$file"
expect "tuning: tiles of another precision" 1 "contractions multiply with CUDA cores here, not with it; load with the precision" explain "$scratch/net.dyn" --dims M=5 --device cuda --gpu a100 --policy dietcode --tuning "$file"
expect "tuning: tiles for another policy" 1 "has nothing for policy 'dyn', but micro-kernels for 'tscompiler', 'dietcode'; dynrun tune" explain "$scratch/net.dyn" --dims M=5 "${gpu[@]}" --tuning "$file"
expect "tune: tiles of another GPU into the file" 1 "cannot be resumed: its target is 'cuda/a100', now it is 'cuda/h100'" tune "$scratch/three.txt" --policy tscompiler --device cuda --gpu h100 --precision bf16 -o "$file" --seed 3
file=$scratch/emulated_pools.json
expect "tune: tiles of the emulator" 0 "^\| dietcode " tune "$scratch/net.dyn" --dims M=5,7 --policy dietcode --device emulator --gpu a100 --budget 18 -o "$file"
expect "tuning: a run by tuned tiles" 0 "y " run "$scratch/net.dyn" --dims M=5 --device emulator --gpu a100 --policy dietcode --tuning "$file"
exit $((failures > 0))
