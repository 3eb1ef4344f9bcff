#!/usr/bin/env bash
# Drives dynrun as a user would: what it prints, what it says when it refuses, and its exit codes.
#   tests/cli/dynrun.sh BUILD_DIR
. "$(dirname "$0")/../support/cli.sh" "$@"
cd "$(dirname "$0")"

quick=(--skip-load --iterations 3 --warmup 0)

expect "help" 0 "Subcommands" --help
expect "help of a command" 0 "S=1\.\.512\*2" bench --help
expect "version" 0 "dynrun 0\.[0-9]+\.[0-9]+" --version
expect "no command" 2 "subcommand"
expect "unknown command" 2 "subcommand" frobnicate
expect "unknown flag" 2 "frobnicate" run model.dyn --frobnicate
expect "no model" 2 "model" run
expect "unknown format" 2 "xml" run model.dyn --format xml
expect "unknown device" 2 "abacus" run model.dyn --device abacus
expect "formats in the help, once" 0 "--format md.csv.json(=md)? +md \(default" run --help
expect "more threads than there can be" 2 "1024" run model.dyn --threads 1025
expect "threads below 1" 2 "threads" run model.dyn --threads 0

# A model on the standard input, of either format. relu.onnx: f32 y[N, 2] = Relu(x), by "a tool".
printf '%b' '\0010\0010\0022\0006a\0040tool\0072\0075\0012\0014\0012\0001x\0022\0001y\0042\0004Relu\0022\0001gZ\0024\0012\0001x\0022\0017\0012\0015\0010\0001\0022\0011\0012\0003\0022\0001N\0012\0002\0010\0002b\0024\0012\0001y\0022\0017\0012\0015\0010\0001\0022\0011\0012\0003\0022\0001N\0012\0002\0010\0002B\0002\0020\0021' >"$scratch/relu.onnx"
given() {  # name, exit code, pattern, file, arguments: as expect, with the file as the standard input
  local name=$1 wanted=$2 pattern=$3 file=$4 code
  shift 4
  "$dynrun" "$@" >"$scratch/out" 2>"$scratch/err" <"$file"
  code=$?
  if [ $code -ne "$wanted" ]; then problem "$name" "exit code $code instead of $wanted"; else has "$name" "$pattern"; fi
}
given "run a text from the standard input" 0 "\[1, 2" model.dyn run - --dims B=1 --dims S=2 --random-weights
given "run an ONNX model from the standard input" 0 "\| y +\| f32 +\| \[3, 2\]" "$scratch/relu.onnx" run - --dims N=3
given "inspect an ONNX model from the standard input: who wrote it" 0 "^onnx +by a tool, opset 17$" "$scratch/relu.onnx" inspect -
given "inspect passes of an ONNX model from the standard input" 0 "y = relu\(x\)" "$scratch/relu.onnx" inspect - --after parse
given "inspect passes of a text from the standard input" 0 "^graph" model.dyn inspect - --after parse
given "import from the standard input" 0 "in\.dyn" "$scratch/relu.onnx" import - -o "$scratch/in.dyn"
given "import from the standard input without a place" 1 "with --output" "$scratch/relu.onnx" import -
given "bench loads again what is on the standard input" 1 "give --skip-load" model.dyn bench - --dims B=1 --dims S=2
given "bench of the standard input" 0 "median" model.dyn bench - --dims B=1 --dims S=2 "${quick[@]}" --random-weights
given "nothing on the standard input" 1 "the model '<stdin>' is empty" /dev/null run -
given "no model on the standard input" 1 "neither dyn's text" "$build/bin/dynrun" run -

expect "missing file" 1 "nowhere\.dyn" run nowhere.dyn
printf 'dyn 1\ngraph broken' >"$scratch/broken.dyn"
expect "broken model: file, line and column" 1 "broken\.dyn:2:[0-9]+" run "$scratch/broken.dyn"
expect "dim without a value" 1 "dim 'B' has no value and no hint; give it one, such as --dims B=3$" run model.dyn
printf 'dyn 1\ndim A in 0..64 multiple 4\ndim B\ngraph g(x: f32[A, B]) -> (y: f32[A, B]) {\n  y = relu(x)\n  return y\n}\n' >"$scratch/two_dims.dyn"
expect "dims without a value" 1 "dims 'A', 'B' have no value and no hint; give each one, such as --dims A=4 --dims B=3$" run "$scratch/two_dims.dyn"
expect "unknown dim" 1 "no dim .X.; it has B, S" run model.dyn --dims B=1 --dims X=3
expect "dim out of bounds" 1 "65" run model.dyn --dims B=65
expect "malformed dims" 1 'B=1\.\.' run model.dyn --dims B=1..
expect "several dims in one flag" 1 "a --dims of its own" run model.dyn --dims B=1,S=2
expect "several dims after one flag" 2 "Each value needs a --dims of its own: --dims S=2 --dims C=7$" run model.dyn --dims B=1 S=2 C=7 --threads 1
expect "a value without a flag that repeats" 2 "not expected: S=2" run model.dyn --threads 1 S=2
expect "a dim twice" 1 "twice" run model.dyn --dims B=1 --dims B=2
expect "several shapes for run" 1 "dynrun bench" run model.dyn --dims B=1,2
expect "dims and shapes together" 1 "exclude each other" run model.dyn --dims B=1 --shapes ids=1x2
expect "shape of an unknown input" 1 'ids, mask' run model.dyn --shapes nothing=1x2
expect "shape of a wrong rank" 1 "i64\[B, S\]" run model.dyn --shapes ids=4
expect "shapes that contradict" 1 "dim S" run model.dyn --shapes ids=1x2,mask=1x3
expect "malformed load-inputs" 1 "NAME=FILE" run model.dyn --dims B=1 --load-inputs ids
expect "load-inputs without file" 1 "nothing\.npy" run model.dyn --dims B=1 --load-inputs ids=nothing.npy
expect "unknown group" 1 "no such group" inspect model.dyn --group nonsense
expect "after an unknown pass" 1 "no such pass; there are parse, widen_halves, decompose" inspect model.dyn --after inline
printf 'dyn 1\ndim S in 1..64\ngraph g(x: f32[S, 8]) -> (y: f32[S, 8]) {\n  y = softmax(x)\n  return y\n}\n' >"$scratch/soft.dyn"
expect "the text before the passes" 0 "softmax\(" inspect "$scratch/soft.dyn" --after parse
expect "the text after a pass" 0 "exp\(" inspect "$scratch/soft.dyn" --after decompose
expect "no passes on the reference" 1 "without passes; take another device, or --after parse" inspect "$scratch/soft.dyn" --after fuse --device reference
expect "parse on the reference" 0 "softmax\(" inspect "$scratch/soft.dyn" --after parse --device reference
printf 'dyn 1\ndim S in 1..64\nweight w: f32[8, 8] = random 1\ngraph g(x: f32[S, 8]) -> (y: f32[S, 8]) {\n  a = tanh(x)\n  y = matmul(a, w)\n  return y\n}\n' >"$scratch/fed.dyn"
expect "quantize: what layers are" 0 "i4 in 16 by i8" quantize "$scratch/fed.dyn" -o "$scratch/small.dyn" --group 16 --compute i8 --dims S=3
has "quantize: errors of outputs" "relative_error"
has "quantize: the size" "small.safetensors: [0-9]+ bytes"
expect "quantize: what was written runs" 0 "\[3, 8\]" run "$scratch/small.dyn" --dims S=3
expect "quantize: no output" 2 "output" quantize "$scratch/fed.dyn" --dims S=3
expect "quantize: a folder that does not exist" 1 "cannot be written" quantize "$scratch/fed.dyn" -o "$scratch/nowhere/small.dyn" --dims S=3
expect "quantize: the weights' own name" 1 "the text; weights get the ending" quantize "$scratch/fed.dyn" -o "$scratch/small.safetensors" --dims S=3
expect "quantize: groups that do not exist" 2 "48" quantize "$scratch/fed.dyn" -o "$scratch/small.dyn" --group 48 --dims S=3
expect "quantize: no layers" 1 "no product of f32" quantize "$scratch/soft.dyn" -o "$scratch/small.dyn" --dims S=3
expect "fusion: who joined" 0 "joined +mul y +by next-to-member: .*" inspect model.dyn --fusion
expect "fusion: who was refused, where it is instead, and by which tensor" 0 "refused +tanh a \(in [a-z_0-9]+\) +by read-from-memory: [a-z ,']+ \(" inspect "$scratch/fed.dyn" --fusion --group matmul_0
check "fusion: of one group" bash -c "[ \$(grep -c '^group ' '$scratch/out') -eq 1 ]"
expect "fusion: no such group" 1 "no such group" inspect model.dyn --fusion --group nonsense
expect "fusion: not on the reference" 1 "without passes; take another device" inspect model.dyn --fusion --device reference
expect "fusion: not beside --after" 2 "excludes" inspect model.dyn --fusion --after fuse
expect "the text of no file" 1 "nowhere\.dyn" inspect nowhere.dyn --after parse
DYN_DUMP=passes,ast expect "a kind of dump that does not exist" 1 "nothing called \"ast\" to dump; there are passes, problems, llvm, asm" run "$scratch/soft.dyn" --dims S=3
DYN_DUMP=passes,problems,llvm,asm DYN_DUMP_DIR="$scratch/dump" expect "a dump" 0 "\[3, 8\]" run "$scratch/soft.dyn" --dims S=3
for file in 0-parse.dyn 8-fuse.dyn softmax_0.problem.txt 'dyn_*.ll' 'dyn_*.s'; do
  check "the dump has $file" bash -c "ls $scratch/dump/$file"
done
DYN_DUMP=asm,llvm DYN_DUMP_DIR="$scratch/dump_gpu" expect "a dump of a described GPU" 0 "softmax" inspect "$scratch/soft.dyn" --device cuda --gpu a100
for file in 'softmax_0*.ptx' 'softmax_0*.ll'; do
  check "the GPU's dump has $file" bash -c "ls $scratch/dump_gpu/$file"
done
expect "trace that cannot be written" 1 "trace" bench model.dyn --dims B=1 "${quick[@]}" --trace /nonexistent/x.json

expect "run" 0 "\[2, 5, 3\]" run model.dyn --dims B=2 --dims S=5
expect "several shapes where one is wanted" 1 "shapes give 2 shapes" run model.dyn --shapes ids=1x2 --shapes ids=3x4
expect "bench of several shapes" 0 "3.*4|S=4" bench model.dyn --shapes ids=1x2 --shapes ids=3x4 --iterations 3 --skip-load
expect "run by shapes of one input" 0 "\[3, 4, 3\]" run model.dyn --shapes ids=3x4
expect "run with a hint" 0 "\[1, 8, 3\]" run model.dyn --dims B=1
expect "run at size 0" 0 "\[1, 0, 3\]" run model.dyn --dims B=1 --dims S=0
for threads in 1 3 100; do
  expect "run on $threads threads" 0 "\[1, 8, 3\]" run model.dyn --dims B=1 --threads $threads
done
expect "run on the reference" 0 "\[1, 8, 3\]" run model.dyn --dims B=1 --device reference
expect "run with avx2 or a clear refusal" "$(grep -qw avx2 /proc/cpuinfo && echo 0 || echo 1)" "\[1, 8, 3\]|avx2" run model.dyn --dims B=1 --isa avx2
expect "run without a cache" 0 "\[1, 8, 3\]" run model.dyn --dims B=1 --cache-dir none

cat >"$scratch/state.dyn" <<'MODEL'
dyn 1
dim S in 1..8 hint 2
dim P in 0..16
dim C in 1..16 hint 16
state k: f32[C, 4]
graph keep(x: f32[S, 4]) -> (y: f32[_, 4]) {
  return slice(append(k, x) at=P) axes=[0] starts=[0] ends=[P + S]
}
MODEL
expect "state: a session of length 0" 0 "\[2, 4\]" run "$scratch/state.dyn"
expect "state: a session of some length" 0 "\[8, 4\]" run "$scratch/state.dyn" --dims P=5 --dims S=3
expect "state: no room" 1 "the capacity of k is C = 4" run "$scratch/state.dyn" --dims P=3 --dims C=4
expect "state: bench stays at a length" 0 "[|] +3 [|]" bench "$scratch/state.dyn" --dims P=5 --dims S=1 "${quick[@]}"
expect "state: inspect" 0 "P is the session's length; a run adds S" inspect "$scratch/state.dyn"

"$dynrun" run model.dyn --dims B=2 --dims S=5 --save-outputs "$scratch/a" >/dev/null 2>&1
"$dynrun" run model.dyn --dims B=2 --dims S=5 --save-outputs "$scratch/b" >/dev/null 2>&1
"$dynrun" run model.dyn --dims B=2 --dims S=5 --seed 1 --save-outputs "$scratch/c" >/dev/null 2>&1
check "the same seed saves the same bytes" cmp "$scratch/a/y.npy" "$scratch/b/y.npy"
check "another seed saves others" bash -c "! cmp -s '$scratch/a/y.npy' '$scratch/c/y.npy'"
cat >"$scratch/pass.dyn" <<'MODEL'
dyn 1
dim B in 1..64
dim S in 0..512
graph pass(x: f32[B, S, 3]) -> (y: f32[B, S, 3]) {
  y = x + 0.0
  return y
}
MODEL
expect "loaded inputs decide the dims" 0 "\[2, 5, 3\]" run "$scratch/pass.dyn" --load-inputs "x=$scratch/a/y.npy" --save-outputs "$scratch/d"
check "saved outputs load again" cmp "$scratch/a/y.npy" "$scratch/d/y.npy"
expect "loaded inputs that do not fit the dims" 1 "x" run "$scratch/pass.dyn" --dims B=1 --dims S=1 --load-inputs "x=$scratch/a/y.npy"

cat >"$scratch/texts.dyn" <<'MODEL'
dyn 1
dim N
graph texts(x: i64[N] of ["cat", "", "dog"], n: i64[N]) -> (y: i64[N] of ["cat", "", "dog"], z: i64[N]) {
  z = x + n
  return x, z
}
MODEL
npy_of_texts() {  # FILE, DESCR, N, DATA for printf: without numpy
  { printf '\x93NUMPY\x01\x00\x76\x00'; printf '%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': ($3,), }"; printf "$4"; } >"$1"
}
npy_of_texts "$scratch/bytes.npy" '|S3' 3 'dogxx\0cat'
npy_of_texts "$scratch/letters.npy" '<U2' 1 '\xe9\0\0\0t\0\0\0'
npy_of_texts "$scratch/cut.npy" '<U2' 2 '\xe9\0\0\0t\0\0\0'
expect "texts: a file of bytes, with one that no list has" 0 '"dog", "xx", "cat"' run "$scratch/texts.dyn" --load-inputs "x=$scratch/bytes.npy" --save-outputs "$scratch/texts"
check "texts: known and unknown ones are saved" grep -aq "'descr': '<U3'.*'shape': (3, )" "$scratch/texts/y.npy"
expect "texts: saved outputs load again" 0 '"dog", "xx", "cat"' run "$scratch/texts.dyn" --load-inputs "x=$scratch/texts/y.npy"
expect "texts: letters" 0 '"ét"' run "$scratch/texts.dyn" --load-inputs "x=$scratch/letters.npy"
expect "texts: places are taken as they are" 1 "output 'y' has the element" run "$scratch/texts.dyn" --load-inputs "x=$scratch/texts/z.npy" --seed 3
expect "texts: drawn from the list" 0 '"(cat|dog)?"' run "$scratch/texts.dyn" --dims N=4
expect "texts: a file that is cut" 1 "the header says 2 elements of <U2, but 8 bytes follow" run "$scratch/texts.dyn" --load-inputs "x=$scratch/cut.npy"
expect "texts: none for an input of numbers" 1 "the file for n holds texts, but input 'n' has no texts" run "$scratch/texts.dyn" --load-inputs "n=$scratch/bytes.npy"
expect "texts: none for an input that is not there" 1 "the model has no input 'q'" run "$scratch/texts.dyn" --load-inputs "q=$scratch/bytes.npy"
expect "texts: floats are none" 1 "input x is i64\[2\] here, but the file has f32" run "$scratch/texts.dyn" --dims N=2 --load-inputs "x=$scratch/a/y.npy"
expect "texts: inspect shows the list" 0 'x: i64\[N\] of 3 texts: "cat", "", "dog"' inspect "$scratch/texts.dyn"

rows() { "$dynrun" bench model.dyn --dims B=1,2 --dims 'S=1..4*2' "${quick[@]}" "$@" 2>>"$scratch/bench-err"; }
check "bench: a row for each shape (csv)" bash -c "[ \$(wc -l) -eq 7 ]" < <(rows --format csv)
check "bench: a row for each shape and number of threads (csv)" bash -c "[ \$(grep -cE 'model,[12],[124],[12],cpu') -eq 12 ]" < <(rows --threads 1,2 --format csv)
check "bench: a row for each shape and number of threads (json)" bash -c "[ \$(grep -c '\"threads\": 2') -eq 6 ]" < <(rows --threads 1,2 --format json)
check "bench: a row for each shape and number of threads (md)" bash -c "[ \$(grep -cE '\| +[12] \| cpu/') -eq 12 ]" < <(rows --threads 1,2)
expect "bench: no threads at all" 2 "threads" bench model.dyn --threads 1,0
check "bench: iterations are exact" bash -c "[ \$(grep -c '\"runs\": 3') -eq 6 ]" < <(rows --format json)
rows --format json >"$scratch/rows.json"
for column in model B S threads device first_ms new_shape_us median_ms p95_ms gflops limit_ms limit_ratio; do
  check "bench: column $column" grep -q "\"$column\":" "$scratch/rows.json"
done
check "bench: percentiles" grep -q '"p50_ms"' < <(rows --format json --percentile 50,99)
check "bench: nothing on stderr away from a terminal" bash -c "[ ! -s '$scratch/bench-err' ]"
check "bench: groups with targets" grep -q "cpu/" < <(rows --profile)
expect "bench: load cold and cached" 0 "\| cached" bench model.dyn --dims B=1 --iterations 3
check "bench: cold compiles, cached does not" awk -F'|' '/ cold /{cold=$12} / cached /{cached=$12} END{exit !(cold>0 && cached==0)}' "$scratch/out"
expect "bench: load only" 0 "total_ms" bench model.dyn --load-only
"$dynrun" bench model.dyn --dims B=1 "${quick[@]}" --trace "$scratch/trace.json" >/dev/null 2>&1
check "bench: trace" grep -q '"traceEvents"' "$scratch/trace.json"

expect "inspect: groups and targets" 0 "target cpu/" inspect model.dyn
check "inspect: no group on the reference" bash -c "! grep -q 'target.*reference' '$scratch/out'"
cat > "$scratch/pool.dyn" <<'EOF'
dyn 1
dim W
graph pool(x: f32[1, W, 4]) -> (y: f32[1, _, 4]) {
  y = max_pool(x) sizes=[3]
  return y
}
EOF
expect "inspect: sizes that a window does not fit into, where none were given" 0 "give --dims, as .*window is 3" inspect "$scratch/pool.dyn"
check "inspect: its groups" grep -q "group max_pool_0" "$scratch/out"
expect "inspect: such sizes that were given" 1 "window is 3" inspect "$scratch/pool.dyn" --dims W=1
expect "explain" 0 "matmul" explain model.dyn --dims B=1
expect "explain: assembly of the chosen kernels" 0 "^# contraction " explain model.dyn --dims B=1 --asm
check "explain: assembly of the main loop" grep -q "^# \(main\|dot\) loop" "$scratch/out"
check "explain: assembly of instructions" grep -qE "^[[:space:]]+(v?movup|v?mul)" "$scratch/out"
expect "explain: assembly of one group" 0 "^gather_0" explain model.dyn --dims B=1 --asm --group gather_0
check "explain: assembly of no other" bash -c "! grep -q '# contraction' '$scratch/out'"
"$dynrun" explain model.dyn --dims B=1 --asm --group gather_0 2>&1 | sed -n '/^# /,$p' | sed '/^$/d' >"$scratch/explained.s"
DYN_DUMP=asm DYN_DUMP_DIR="$scratch/dump_asm" "$dynrun" run model.dyn --dims B=1 >/dev/null 2>&1
check "explain: the assembly that DYN_DUMP=asm writes" bash -c "for file in '$scratch'/dump_asm/*.s; do sed '/^$/d' \$file | cmp -s - '$scratch/explained.s' && exit 0; done; exit 1"
printf 'dyn 1\ngraph g(x: f32[3, 8]) -> (y: f32[3, 8]) {\n  y = cumsum(x) axis=1\n  return y\n}\n' >"$scratch/cumsum.dyn"
expect "explain: assembly of a function of the host" 0 "no generated code" explain "$scratch/cumsum.dyn" --asm
expect "explain: PTX of the chosen kernels" 0 "\.visible \.entry" explain model.dyn --dims B=1 --asm --device cuda --gpu a100
expect "explain: assembly and measured times" 2 "excludes" explain model.dyn --dims B=1 --asm --measure
expect "explain: counters of the emulator's kernels" 0 "^. groups .*wavefronts.*least us" explain "$scratch/fed.dyn" --dims S=33 --device emulator --counters
has "explain: counters of a group" "^. matmul_0 "
expect "explain: counters on a CPU" 1 "does not count what its kernels do; take --device emulator" explain model.dyn --dims B=1 --counters
expect "explain: counters and code" 2 "excludes" explain model.dyn --dims B=1 --device emulator --counters --asm
expect "explain: counters of no such group" 1 "nosuch" explain "$scratch/fed.dyn" --dims S=3 --device emulator --counters --group nosuch
expect "devices" 0 "gflops" devices
check "devices: json" grep -q '"dram_gb_per_s"' < <("$dynrun" devices --format json)
expect "devices: described GPUs" 0 "a100 +\| NVIDIA A100" devices
expect "devices: GPUs, or why there are none" 0 "GPUs for --device cuda|No GPU for --device cuda: .{10}" devices
check "devices: GPUs in json" grep -q '"memory_gb_per_s"' < <("$dynrun" devices --format json)
if "$dynrun" devices | grep -q "^No GPU"; then
  expect "cuda without a GPU says what is missing" 1 "libcuda|driver|GPU" run model.dyn --dims B=1 --device cuda
else
  expect "cuda with a GPU" 0 "\[2, 5, 3\]" run model.dyn --dims B=2 --dims S=5 --device cuda
fi

described=(--device cuda --gpu a100)
expect "unknown precision" 2 "f64" run model.dyn --precision f64
expect "precision that the CPU lacks" 1 "does not multiply in precision 'tf32'" run model.dyn --dims B=1 --precision tf32
expect "weights that GPUs do not keep" 1 "i8.*device 'cpu'" run model.dyn --dims B=1 --device emulator --weights i8
expect "weights that are not multiplied so" 1 "i8.*precision 'bf16'" run model.dyn --random-weights --dims B=1 --precision bf16 --weights i8
expect "run in bf16" 0 "\[1, 5, 3\]|f32" run model.dyn --random-weights --dims B=1 --precision bf16
expect "run in i8" 0 "\[1, 5, 3\]|f32" run model.dyn --random-weights --dims B=1 --precision i8
expect "weights of 4 bits" 0 "\[1, 5, 3\]|f32" run model.dyn --random-weights --dims B=1 --weights i4 --weight-group 64
expect "groups that there are not" 1 "groups of 48.*32, 64" run model.dyn --random-weights --dims B=1 --weights i4 --weight-group 48
for weights in bf16 i8; do
  expect "run with weights of $weights" 0 "\[1, 5, 3\]|f32" run model.dyn --random-weights --dims B=1 --weights $weights
  expect "bench with weights of $weights" 0 "limit_ratio" bench model.dyn --random-weights --dims B=1 --weights $weights "${quick[@]}"
done
expect "inspect shows weights of i8" 0 "i8: .*packed" inspect model.dyn --random-weights --dims B=1 --weights i8
expect "a GPU for the CPU" 1 "'a100'" run model.dyn --dims B=1 --gpu a100
expect "unknown GPU: the names that there are" 1 "a100" explain model.dyn --dims B=1 --device cuda --gpu abacus
expect "a described GPU explains" 0 "cuda/a100|multiprocessors|waves|a100" explain model.dyn --dims B=1 "${described[@]}" --precision bf16
expect "a described GPU does not run" 1 "only a description" run model.dyn --dims B=1 "${described[@]}"
printf 'dyn 1\ndim S in 1..64 hint 8\nweights "nowhere.safetensors"\ngraph g(x: f32[S, 32]) -> (y: f32[S, 48]) {\n  y = matmul(x, w: f32[32, 48])\n  return y\n}\n' >"$scratch/unweighted.dyn"
expect "a described GPU explains times as predictions" 0 "predicted from the description of NVIDIA A100-SXM4-80GB; no layer is measured" explain model.dyn --dims B=1 "${described[@]}"
expect "a described GPU explains without weights" 0 "matmul" explain "$scratch/unweighted.dyn" "${described[@]}"
expect "a missing weights file: the flag that needs none" 1 "nowhere\.safetensors.*--random-weights" inspect "$scratch/unweighted.dyn"
expect "inspect shows copies" 0 "host to GPU" inspect model.dyn "${described[@]}"
expect "inspect shows the groups' targets" 0 "target cuda/a100" inspect model.dyn "${described[@]}"
expect "dump of PTX" 0 "[1-9][0-9]* files of PTX" explain model.dyn --dims B=1 "${described[@]}" --precision bf16 --dump-ptx "$scratch/ptx"
check "dump: a file for each line" bash -c "[ \$(ls '$scratch/ptx' | grep -c '\.ptx\$') -eq \$(grep -c '\.ptx ' '$scratch/out') ]"
check "dump: for compute capability 8.0" bash -c "[ \$(grep -lE '^\.target sm_80' '$scratch'/ptx/*.ptx | wc -l) -eq \$(ls '$scratch/ptx' | wc -l) ]"
ptx_at() {  # folder, dims and flags...
  local into=$1
  shift
  "$dynrun" explain model.dyn "$@" --dump-ptx "$into" | sed -n '/^| file/,$p' >"$into.table"
}
ptx_at "$scratch/ptx-middle" --dims B=2 --dims S=64 "${described[@]}" --precision bf16
ptx_at "$scratch/ptx-longer" --dims B=9 --dims S=331 "${described[@]}" --precision bf16
ptx_at "$scratch/ptx-emulated" --dims B=9 --dims S=331 --device emulator --gpu a100 --precision bf16
ptx_at "$scratch/ptx-h200" --dims B=9 --dims S=331 --device cuda --gpu h200 --precision bf16
check "dump: the same for every length" diff -r "$scratch/ptx" "$scratch/ptx-longer"
check "dump: and for one between" diff -r "$scratch/ptx" "$scratch/ptx-middle"
check "dump: the emulator's own" diff -r "$scratch/ptx" "$scratch/ptx-emulated"
check "dump: a hash of the IR for each file" bash -c "[ \$(grep -cE '\.ptx +\| [0-9a-f]{16} ' '$scratch/ptx-longer.table') -eq \$(ls '$scratch/ptx' | wc -l) ]"
check "dump: the hashes of the emulator" cmp "$scratch/ptx-longer.table" "$scratch/ptx-emulated.table"
check "dump: other tiles for another GPU" bash -c "[ -s '$scratch/ptx-h200.table' ] && ! cmp -s '$scratch/ptx-longer.table' '$scratch/ptx-h200.table'"
expect "dump to where nothing can be written" 1 "dump-ptx /proc/nowhere: " explain model.dyn --dims B=1 "${described[@]}" --dump-ptx /proc/nowhere
expect "dump into a folder that takes no files" 1 "dump-ptx: /proc/.*\.ptx cannot be written: " explain model.dyn --dims B=1 "${described[@]}" --dump-ptx /proc
expect "dump for an unknown GPU" 1 "a100, h100, h200" explain model.dyn --dims B=1 --device cuda --gpu abacus --dump-ptx "$scratch/ptx-none"
expect "dump in an unknown precision" 2 "f64" explain model.dyn --dims B=1 "${described[@]}" --precision f64 --dump-ptx "$scratch/ptx-none"
expect "dump on the CPU" 1 "no group on cpu/.* has PTX" explain model.dyn --dims B=1 --dump-ptx "$scratch/ptx-cpu"

expect "run on the emulator" 0 "\[2, 5, 3\]" run model.dyn --dims B=2 --dims S=5 --device emulator
expect "run on the emulator in bf16" 0 "\[2, 5, 3\]" run model.dyn --dims B=2 --dims S=5 --device emulator --precision bf16
check "inspect on the emulator" grep -q "target emulator/a100" < <("$dynrun" inspect model.dyn --device emulator)
expect "bench on the emulator" 0 "emulator/a100" bench model.dyn --dims B=1 --dims S=3 --device emulator --skip-load

check "bench on the emulator: no limit, as it has no speed" grep -q '"limit_ms": null' < <("$dynrun" bench model.dyn --dims B=1 --device emulator --skip-load --format json)

# A driver that accepts everything and computes nothing stands for a GPU; its environment says what it pretends to be, and what fails.
fake=$build/tests/fake_cuda
on_gpu() {  # name, code, pattern, arguments...: run on it
  local name=$1 code=$2 pattern=$3
  shift 3
  LD_LIBRARY_PATH=$fake expect "$name" "$code" "$pattern" "$@" --device cuda
}
check "the fake driver is built" test -e "$fake/libcuda.so.1"
on_gpu "GPU: run" 0 "\[2, 5, 3\]" run model.dyn --dims B=2 --dims S=5
on_gpu "GPU: bench with its limit" 0 '"limit_ms": [0-9]' bench model.dyn --dims B=2 --skip-load --iterations 3 --format json
on_gpu "GPU: an index that there is not" 1 'no GPU "1".*index 0 only' run model.dyn --dims B=1 --gpu 1
FAKE_CUDA_DRIVER_VERSION=11020 on_gpu "GPU: a driver too old for the PTX" 1 "too old: it supports CUDA 11\.2, and dyn needs .* update the NVIDIA driver" run model.dyn --dims B=1
# With --deterministic no stage of a tile is timed, which would meet the failure first.
DYN_CACHE_DIR=none FAKE_CUDA_FAILING_FUNCTION=cuLinkAddData FAKE_CUDA_FAILURE=222 on_gpu "GPU: PTX that the driver refuses" 1 "cannot compile PTX .* update the NVIDIA driver" run model.dyn --dims B=1 --deterministic
FAKE_CUDA_DEVICES=0 on_gpu "GPU: a driver without GPU" 1 "finds no GPU: check nvidia-smi" run model.dyn --dims B=1
FAKE_CUDA_CAPABILITY=75 on_gpu "GPU: older than sm_80" 1 "compute capability 7\.5; dyn needs 8\.0 or more" run model.dyn --dims B=1
FAKE_CUDA_CAPABILITY=75 LD_LIBRARY_PATH=$fake expect "GPU: an old one is listed" 0 "cuda 0 .* 7\.5 " devices
FAKE_CUDA_MEMORY_BYTES=1000 on_gpu "GPU: no memory for weights" 1 "out of device memory: [0-9]+ bytes wanted for weights, 1000 of 1000 bytes free" run model.dyn --dims B=1
FAKE_CUDA_MEMORY_BYTES=30000 on_gpu "GPU: no memory for a large shape" 1 "wanted for intermediate tensors of a run, [0-9]+ of 30000 bytes free; use smaller shapes" run model.dyn --dims B=60 --dims S=500
FAKE_CUDA_MEMORY_BYTES=30000 on_gpu "GPU: memory for a small shape" 0 "\[1, 8, 3\]" run model.dyn --dims B=1
FAKE_CUDA_FAILING_FUNCTION=cuLaunchKernel FAKE_CUDA_FAILURE=701 on_gpu "GPU: a refused launch names its group" 1 "launching gather_0 .*CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" run model.dyn --dims B=1 --deterministic
FAKE_CUDA_ASYNCHRONOUS_FAILURE=700 on_gpu "GPU: a kernel that dies names the groups" 1 "in running 'gather_0' to 'matmul_0'" run model.dyn --dims B=1 --deterministic

# A process that may start no threads loads and runs alone. For root the limit does not hold, so that another user takes its place; it may
# not be able to read the build folder.
chmod 755 "$scratch" && cp "$dynrun" "$scratch/dynrun" && cp model.dyn "$scratch/model.dyn"
as_other=()
[ "$(id -u)" -ne 0 ] || as_other=(setpriv --reuid=65534 --clear-groups)
alone() { ${as_other[@]+"${as_other[@]}"} bash -c 'ulimit -u 1; exec "$@"' alone "$scratch/dynrun" "$@"; }
check "no threads: a model loads and runs" alone run "$scratch/model.dyn" --dims B=8 --dims S=64 --threads 2 --cache-dir none

expect "cache: show" 0 "$scratch/cache" cache
touch "$DYN_CACHE_DIR/precious.txt"
expect "cache: clear" 0 "removed [1-9]" cache clear
check "cache: clear leaves other files alone" test -e "$DYN_CACHE_DIR/precious.txt"
expect "cache: empty after clear" 0 "code +0 kernels" cache show
HOME= XDG_CACHE_HOME= DYN_CACHE_DIR= expect "cache: no home" 1 "HOME is set" cache
expect "cache: switched off" 1 "switched off" cache --cache-dir none

finish
