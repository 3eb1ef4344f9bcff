#!/usr/bin/env bash
# Drives dynrun op: shapes, suites, cold operands, formats, peers that work, die, talk nonsense or are missing.
#   tests/cli/op.sh BUILD_DIR
. "$(dirname "$0")/../support/cli.sh" "$@"

# The machine's figures, so that nothing is measured here.
cat >"$scratch/peak.json" <<'END'
{"isa": "none", "cache_bytes": [32768, 524288, 1048576], "figures": [{"threads": 1, "gflops": 1e9, "dram_gb_per_s": 1e9}]}
END
mkdir -p "$scratch/bin"
cp "$dynrun" "$scratch/bin/dynrun"
# A peak of 1 GFLOP/s for sse2.
cat >"$scratch/bin/dyn-peak" <<END
#!/bin/sh
case "\$*" in
  *"--isa sse2"*) sed 's/"gflops": 1e9/"gflops": 1/' "$scratch/peak.json" ;;
  *) cat "$scratch/peak.json" ;;
esac
END
chmod +x "$scratch/bin/dyn-peak"
[ -e "$build/bin/dyn-peer" ] && cp "$build/bin/dyn-peer" "$scratch/bin/"
dynrun=$scratch/bin/dynrun

# Peers that speak the protocol of docs/peers.md with fixed times; PATTERN of a problem that the first one refuses.
cat >"$scratch/peer.sh" <<'END'
#!/usr/bin/env bash
while read -r word rest; do
  printf '%s %s\n' "$word" "$rest" >>"$2"
  case $word in
    hello) echo "ok fake 1.0" ;;
    problem) if [[ $rest == *=f32:3x* ]]; then echo "no three rows"; else echo ok; fi ;;
    time)
      [ "$1" = dies ] && kill -9 $$
      if [ "$1" = nonsense ]; then echo "ok soon"; else echo "ok 1000 1"; fi ;;
    done) echo ok ;;
  esac
done
END
chmod +x "$scratch/peer.sh"
fake() { echo "$1=exec:bash $scratch/peer.sh $1 $scratch/$1.log"; }

quick=(--rounds 2 --slice-ms 0.1)
types="f32[M,8] x f32[8,16]"

expect "op: help" 0 "M=1\.\.512" op --help
expect "op: no types and no suite" 1 "TYPES" op matmul
expect "op: nothing at all" 1 "OPERATOR" op
expect "op: another device" 2 "For a described GPU dynrun select predicts times: dynrun select OP TYPES --device cuda --gpu a100" op matmul "$types" --device cuda
expect "op: types and a suite" 1 "TYPES" op matmul "$types" --suite x
expect "op: broken types" 1 'f32\[M,' op matmul "f32[M," --dims M=1
expect "op: unknown operator" 1 "frobnicate" op frobnicate "f32[M]" --dims M=1
expect "op: a convolution without filters" 1 "conv takes 2" op conv "f32[M]" --dims M=1
printf 'IC IH IW OC KH KW SH SW PT PL PB PR G\n4 6 5 8 3 3 2 1 1 1 1 1 2\n' >"$scratch/conv.txt"
expect "op: a suite of convolutions at two batches" 0 "conv" op --suite "$scratch/conv.txt" --dims N=1,3 --rounds 1 --threads 1
printf 'B M N K TA TB\n3 5 =M 24 N T\n' >"$scratch/batch.txt"
printf 'B H Q S D DV MASK\n1 2 5 40 16 8 causal\n' >"$scratch/attention.txt"
expect "op: suites of batches of matmuls and of attention" 0 '"causal": "true"' \
  op --suite "$scratch/batch.txt" --suite "$scratch/attention.txt" --rounds 1 --slice-ms 0.1 --threads 1 --format json
has "op: a batch of matmuls" '"op": "matmul"'
expect "op: a suite says its dims" 1 "the suite says what IH is" op --suite "$scratch/conv.txt" --dims IH=3
expect "op: an operator that the suite has not" 1 "holds shapes of conv" op matmul --suite "$scratch/conv.txt"
expect "op: a dim without a value" 1 "dim M has no value" op matmul "$types"
expect "op: an unknown dim" 1 "no operand has that dim" op matmul "$types" --dims Q=1
expect "op: operands that do not fit" 1 "matmul" op matmul "f32[2,3] x f32[4,5]"
expect "op: unknown peer" 1 "abacus" op matmul "$types" --dims M=1 --peers abacus
printf 'M N K\n4 5 6\n4 five 6\n' >"$scratch/broken.txt"
expect "op: a broken line of a suite" 1 "broken.txt:3: N is \"five\"" op matmul --suite "$scratch/broken.txt"
has "op: the line's text" "^  4 five 6"
expect "op: a suite of convolutions for matmul" 1 "--suite conv-cnn holds shapes of conv" op matmul --suite "$(dirname "$0")/../bench/suites/conv-cnn.txt"

expect "op: shapes" 0 "matmul .* 5 .*cpu/" op matmul "$types" --dims M=1,5,0 --threads 1 "${quick[@]}"
expect "op: an empty result has no limit" 0 "^matmul,0,1,[^,]*,warm,[^,]*,[^,]*,,0,,,?" op matmul "$types" --dims M=0 --threads 1 --format csv "${quick[@]}"
expect "op: the limit of the instruction set that is asked for" 0 "^matmul,500,1,cpu/sse2,warm,([^,]*,){5}0\.128," op matmul "$types" --dims M=500 --threads 1 --isa sse2 --format csv "${quick[@]}"
if [ -e "$build/bin/dyn-peak" ]; then
  check "dyn-peak: the instruction set that is asked for" bash -c '"$0" --isa sse2 --threads 1 --dram 65536 | grep -q "\"isa\": \"sse2\""' "$build/bin/dyn-peak"
fi
expect "op: another operator, csv" 0 "^op,B,S,axis,threads" op softmax "f32[B,S]" --dims B=3 --dims S=7 --attr axis=-1 --threads 1 --format csv "${quick[@]}"
has "op: csv summary" "^# summary=limit_ratio threads=1 state=warm shapes=1"
expect "op: an index operand" 0 "gather" op gather "f32[30,8] x i64[S]" --dims S=3 --attr axis=0 --threads 1 "${quick[@]}"
printf '# two shapes\nM N K TA TB\n4 5 6 N T\n7 5 3 T N\n' >"$scratch/fresh.txt"
expect "op: narrow weights, whose bytes count" 0 "^matmul,64,1,cpu/[a-z0-9]+,i8,cold,141,5\.19" op matmul "f32[M,64] x f32[64,64]" --dims M=64 --threads 1 --cold --weights i8 --format csv "${quick[@]}"
expect "op: a suite, json, two numbers of threads" 0 '"transpose_b": "true"' op matmul --suite "$scratch/fresh.txt" --threads 1,2 --format json "${quick[@]}"
has "op: the suite's name" '"suite": "fresh"'
has "op: json summary" '"summary": "limit_ratio"'
# 1 MiB of L3 in peak.json: 64 x 64 x 64 has 48 KiB of operands.
expect "op: cold, with copies" 0 "^matmul,64,1,cpu/[a-z0-9]+,cold,(4[3-9]|[5-9][0-9])," op matmul "f32[M,64] x f32[64,64]" --dims M=64 --threads 1 --cold --format csv "${quick[@]}"
expect "op: cold, small: at most 512 copies" 0 "^matmul,1,1,cpu/[a-z0-9]+,cold,512,0\." op matmul "f32[M,4] x f32[4,4]" --dims M=1 --threads 1 --cold --format csv "${quick[@]}"

expect "op: peers" 0 "ratio_slow.*ratio_dies.*ratio_nonsense.*ratio_missing.*ratio_absent.*ratio_best" \
  op matmul "$types" --dims M=2..4 --threads 1 --format csv "${quick[@]}" \
  --peers "$(fake slow),$(fake dies),$(fake nonsense),missing=exec:$scratch/nowhere,absent=$scratch/libabsent.so"
has "op: a peer's version" "peer slow: fake 1.0"
has "op: a peer that dies" "peer dies: was ended by signal 9"
has "op: a peer that talks nonsense" "peer nonsense: answered \"ok soon\""
has "op: a program that is missing" "peer missing: .*No such file"
has "op: a library that is missing" "peer absent: .*libabsent"
has "op: a shape that a peer refuses" "peer slow cannot do .*three rows"
has "op: the peer that works has a ratio" "^matmul,4,1,.*,[1-9][0-9.e+]+,,,,,[1-9][0-9.e+]+$"
has "op: the shape that it refused has none" "^matmul,3,1,.*,,,,,,$"
if grep -q "^problem matmul copies=1 input=f32:4x8 weight=f32:8x16 output=f32:4x16$" "$scratch/slow.log" && [ "$(grep -c '^time 0.0001$' "$scratch/slow.log")" -eq 4 ]; then
  echo "ok op: what a peer is asked"
else
  cp "$scratch/slow.log" "$scratch/out"
  problem "op: what a peer is asked" "the requests differ"
fi

# dyn-peer itself, on the protocol's lines that need no library.
answers=$(printf 'time 1\nproblem matmul copies=1\nhello 2 threads=1\nhello 1 threads=1\nfrobnicate\n' | "$scratch/bin/dyn-peer" "$scratch/libabsent.so" 2>/dev/null)
if [ "$(grep -c '^error ' <<<"$answers")" -eq 4 ] && grep -q '^no .*libabsent' <<<"$answers"; then
  echo "ok op: dyn-peer refuses what it does not understand"
else
  echo "$answers" >"$scratch/out"
  problem "op: dyn-peer refuses what it does not understand" "the answers differ"
fi

finish
