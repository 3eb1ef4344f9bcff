#!/usr/bin/env bash
# The program language_id: accuracy on held-out lines and on sentences from elsewhere, its output's form, and that its weights matter.
#   tests/cli/language_id.sh BUILD_DIR
. "$(dirname "$0")/../support/cli.sh" "$@"
program=$build/bin/language_id
folder=$(cd "$(dirname "$0")/../../examples/language_id" && pwd)
cd "$scratch"  # it must work from any directory

# Percent of the lines of a file of CODE<tab>TEXT that are told right; further arguments go to the program.
accuracy() {
  local file=$1
  shift
  cut -f2- "$file" >lines
  cut -f1 "$file" >expected
  "$program" "$@" lines >answers 2>statistics || return 1
  cut -f1 answers | paste expected - | awk -F'\t' '{ right += $1 == $2 } END { printf "%.2f\n", 100 * right / NR }'
}

at_least() { awk -v value="$1" -v least="$2" 'BEGIN { print value; exit !(value != "" && value >= least) }'; }

check "97 % of held-out manual lines" at_least "$(accuracy "$folder/heldout.tsv")" 97
check "nothing compiled after the load" grep -q ' 0 kernels compiled after the load' statistics
check "one line for each line" test "$(wc -l <answers)" -eq "$(wc -l <lines)"
check "90 % of sentences from elsewhere" at_least "$(accuracy "$folder/sentences.tsv")" 90
check "at least 200 of them" at_least "$(wc -l <"$folder/sentences.tsv")" 200
check "code, tab, probability" bash -c "! grep -qvE $'^[a-z]{2,3}\t[01]\\.[0-9]{4}\$' answers"

# Formats of fewer bits, and the files that dynrun writes in them: at most so many points are lost.
exact=$(accuracy "$folder/heldout.tsv")
loses_at_most() { awk -v exact="$exact" -v value="$1" -v most="$2" 'BEGIN { print exact, value; exit !(value != "" && exact - value <= most) }'; }
for case in "0.3 --precision bf16" "0.3 --precision i8" "0.3 --weights bf16" "0.3 --weights i8" "1 --weights i4" "1 --weights i4 --precision i8"; do
  check "at most ${case%% *} points lost with ${case#* }" loses_at_most "$(accuracy "$folder/heldout.tsv" ${case#* })" "${case%% *}"
done
for case in "0.3 --weights i8 --compute i8" "1 --weights i4" "1 --weights i4 --compute i8"; do
  rm -rf written
  mkdir written
  cp "$folder/labels.txt" written/
  check "a file: ${case#* }" "$dynrun" quantize "$folder/language_id.dyn" -o written/language_id.dyn ${case#* } --dims B=1
  check "at most ${case%% *} points lost with a file of ${case#* }" loses_at_most "$(accuracy "$folder/heldout.tsv" --model written)" "${case%% *}"
done
accuracy "$folder/heldout.tsv" >/dev/null  # the answers that are looked at next

{
  printf 'Where is the station?\n\n'
  head -c 5000 /dev/zero | tr '\0' 'a'
  printf '\n\xff\xfe\x80\nWo ist der Bahnhof?'
} >odd
"$program" <odd >odd-answers 2>/dev/null
check "empty, long, not UTF-8, and unfinished lines have one answer each" test "$(wc -l <odd-answers)" -eq 5
check "an empty line is undetermined" bash -c "sed -n 2p odd-answers | grep -q $'^und\t0.0000\$'"
check "the last line counts without its newline" bash -c "sed -n 5p odd-answers | grep -q '^de'"
check "no lines, no answers" bash -c "[ -z \"\$('$program' </dev/null 2>/dev/null)\" ]"
check "one thread gives the same bytes" bash -c "'$program' --threads 1 lines 2>/dev/null | cmp - answers"
check "a missing file is an error" bash -c "! '$program' nowhere 2>/dev/null"
check "a missing model is an error" bash -c "! '$program' --model /nowhere lines 2>/dev/null"

# The same languages from GPU kernels, executed on the CPU: lines that the CPU is sure of.
printf 'Where is the station, please?\nWo ist der Bahnhof, bitte?\nOu est la gare de Lyon?\n' >three
"$program" three >three-cpu 2>/dev/null
before=$SECONDS
check "three lines on the emulator" bash -c "'$program' --device emulator three >three-answers 2>statistics"
echo "note: three lines on the emulator took $((SECONDS - before)) s, load included; less than 40 s are promised"
check "three lines on the emulator: the three languages of the CPU" bash -c "diff <(cut -f1 three-answers) <(cut -f1 three-cpu) && [ \$(cut -f1 three-answers | sort -u | wc -l) -eq 3 ]"
check "three lines on the emulator: the probabilities of the CPU" bash -c \
  "paste three-answers three-cpu | awk -F'\t' 'function apart(x) { return x < 0 ? -x : x } apart(\$2 - \$4) > 0.001 || \$2 + 0 < 0.5 { print; bad = 1 } END { exit bad || NR != 3 }'"
# A GPU's code is made when a shape first needs it, and never again.
compiled() { DYN_CACHE_DIR=none "$program" --device emulator 2>&1 >/dev/null | grep -o '[0-9]* kernels compiled'; }
once=$(compiled <three)
twice=$(cat three three | compiled)
check "lines that come again compile nothing on the emulator" test "${once%% *}" -gt 0 -a "$once" = "$twice"
check "an unknown device is an error" bash -c "! '$program' --device abacus three 2>/dev/null"
check "an unknown GPU is an error" bash -c "! '$program' --device emulator --gpu abacus three 2>/dev/null"

# With its weights zeroed it must be wrong.
mkdir zeroed
cp "$folder"/language_id.dyn "$folder"/labels.txt zeroed/
weights=$folder/language_id.safetensors
header=$((8 + $(od -An -N8 -t u8 "$weights")))
{
  head -c "$header" "$weights"
  head -c $(($(stat -Lc %s "$weights") - header)) /dev/zero
} >zeroed/language_id.safetensors
zeroed_accuracy=$(accuracy "$folder/sentences.tsv" --model zeroed)
check "wrong with zeroed weights" awk -v value="$zeroed_accuracy" 'BEGIN { exit !(value != "" && value < 30) }'

check "the only safetensors file of the examples, at most 4 MB" \
  bash -c "[ \$(find '$folder/..' -name '*.safetensors' | wc -l) -eq 1 ] && [ \$(stat -Lc %s '$weights') -le 4000000 ]"
finish
