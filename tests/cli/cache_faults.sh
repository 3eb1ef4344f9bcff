#!/usr/bin/env bash
# The code cache when things go wrong: whatever lies on the disk, a model loads and gives the same bits.
#   tests/cli/cache_faults.sh BUILD_DIR
. "$(dirname "$0")/../support/cli.sh" "$@"
cd "$(dirname "$0")"

run() {  # output directory, arguments...
  local directory=$1
  shift
  mkdir -p "$directory"
  "$dynrun" run model.dyn --dims B=3 --dims S=7 --seed 5 --deterministic --save-outputs "$directory" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
}

same() {  # name, directory: the outputs of the run just made are those of the first one
  if cmp -s "$scratch/first/y.npy" "$2/y.npy"; then echo "ok $1"; else problem "$1" "other outputs"; fi
}

cache=$scratch/cache
run "$scratch/first" --cache-dir "$cache"
run "$scratch/again" --cache-dir "$cache"
same "a second process takes its code from disk" "$scratch/again"
cp -a "$cache" "$scratch/good"
refill() { cp -a "$scratch/good/." "$cache"; }

# The key stays: without it nothing would be believed, damaged or not.
for file in "$cache"/*.*; do head -c 5000 /dev/urandom >"$file"; done
run "$scratch/noise" --cache-dir "$cache"
same "files of noise are rebuilt" "$scratch/noise"

refill
for file in "$cache"/*.*; do truncate -s $(($(stat -c %s "$file") / 2)) "$file"; done
run "$scratch/half" --cache-dir "$cache"
same "truncated files are rebuilt" "$scratch/half"

for file in "$cache"/*.*; do : >"$file"; done
run "$scratch/empty" --cache-dir "$cache"
same "empty files are rebuilt" "$scratch/empty"

refill
sed -i 's/dyn [0-9]*\.[0-9]*\.[0-9]* \([0-9a-f]*\) llvm/dyn 9.9.9 \1 llvm/' "$cache"/*.o
run "$scratch/version" --cache-dir "$cache"
same "code of another version is rebuilt" "$scratch/version"

mkdir -m 700 "$scratch/folders"
for file in "$cache"/*; do mkdir -p "$scratch/folders/$(basename "$file")/inside"; done
run "$scratch/folder" --cache-dir "$scratch/folders"
same "folders in the place of files do no harm" "$scratch/folder"

run "$scratch/unusable" --cache-dir /proc/self/nowhere
same "a cache directory that cannot be made is done without" "$scratch/unusable"

: >"$scratch/plain"
run "$scratch/plain_file" --cache-dir "$scratch/plain"
same "a file in the place of the directory is done without" "$scratch/plain_file"

mkdir -m 777 "$scratch/open"
run "$scratch/open_directory" --cache-dir "$scratch/open"
same "a directory that others may write to is done without" "$scratch/open_directory"
report "a directory that others may write to is named, with what to do" "$(grep -q "$scratch/open.*chmod go-w" "$scratch/err" || cat "$scratch/err")"
report "a directory that others may write to stays empty" "$(ls "$scratch/open")"

# Objects with the right names and headers, but signed with another key.
refill
run "$scratch/foreign" --cache-dir "$scratch/foreign_cache"
cp "$scratch/foreign_cache"/*.o "$cache"
run "$scratch/planted" --cache-dir "$cache"
same "objects that are signed with another key do no harm" "$scratch/planted"
rebuilt=$(for file in "$scratch/foreign_cache"/*.o; do cmp -s "$file" "$cache/$(basename "$file")" || echo "$file"; done)
report "objects that are signed with another key are rebuilt" "$([ -n "$rebuilt" ] || echo "all were believed")"

# Beyond the limit a write fails as on a full disk; the outputs themselves are small.
(
  trap '' XFSZ
  ulimit -f 1
  run "$scratch/full" --cache-dir "$scratch/full_cache"
)
same "a full disk is done without" "$scratch/full"
report "a full disk leaves no temporary file" "$(ls "$scratch/full_cache" | grep '\.tmp$')"

for _ in 1 2 3 4; do run "$scratch/parallel" --cache-dir "$scratch/shared" & done
wait
run "$scratch/parallel" --cache-dir "$scratch/shared"
same "processes may fill one cache at once" "$scratch/parallel"

# Weights files: floats of random bytes, positive and below 1.
mkdir -p "$scratch/table"
{
  header='{"table":{"dtype":"F32","shape":[1000,500],"data_offsets":[0,2000000]}}'
  printf "\\x$(printf %02x ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
  LC_ALL=C tr -dc '\001-\076' </dev/urandom | head -c 2000000
} >"$scratch/table/table.safetensors"
cat >"$scratch/table/table.dyn" <<'END'
dyn 1
dim B in 1..64
weights "table.safetensors"
graph g(x: f32[B, 1000]) -> (y: f32[B, 500]) {
  y = matmul(x, table: f32[1000, 500])
  return y
}
END
run_table() {  # output directory, arguments...
  local directory=$1
  shift
  mkdir -p "$directory"
  "$dynrun" run "$scratch/table/table.dyn" --dims B=3 --seed 5 --deterministic --save-outputs "$directory" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
}
run_table "$scratch/first" --cache-dir none
for process in 1 2 3 4; do run_table "$scratch/table_$process" --cache-dir "$scratch/weights" & done
wait
for process in 1 2 3 4; do same "process $process of four that write weights at once" "$scratch/table_$process"; done
run_table "$scratch/mapped" --cache-dir "$scratch/weights"
same "mapped weights" "$scratch/mapped"
run_table "$scratch/unkept" --cache-dir "$scratch/weights" --weight-cache 0
same "weights that are not taken from the cache" "$scratch/unkept"
if [ "$(ls "$scratch/weights" | grep -c '^weights-.*\.bin$')" = 1 ] && "$dynrun" cache --cache-dir "$scratch/weights" | grep "MB of .*table.safetensors" >/dev/null; then
  echo "ok one file of weights, which dynrun cache lists"
else
  problem "one file of weights, which dynrun cache lists" "$(ls "$scratch/weights")"
fi

for isa in sse2 avx2 avx512; do
  if run "$scratch/$isa" --cache-dir "$cache" --isa $isa; then
    echo "ok runs on $isa"
  elif grep -q "does not have the instruction set '$isa'" "$scratch/err" && [ $isa != sse2 ]; then
    echo "ok refuses $isa, which this CPU lacks"
  else
    problem "runs on $isa" "neither runs nor refuses"
  fi
done

finish
