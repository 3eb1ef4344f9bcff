#!/usr/bin/env bash
# Breaks dyn on purpose, one mutant at a time, and checks that the named test notices.
#
#   bash tests/mutants/run.sh BUILD_DIR [--touched] [--jobs N] [NAME...]
#
# A mutant is a file NAME.sed here: an edit of one source file, and comments that say what it breaks, which file, which test program
# has the test, which of its test cases must fail, where only some CPUs run what it breaks a flag that they need, and whether code that
# was compiled ahead of time is kept. The tree stays as it is: of BUILD_DIR, which must be built, only the units that hold the file are
# compiled again, from an edited copy, and linked with everything else into a program of the mutant's own.
#   --touched   those whose file the last commits or this tree's changes touch; of too many, and to make up the least, some by a seed
# Prints "ok NAME", "failed NAME: reason" or "skipped mutants.cpu: reason" for each.
# Bugs in GPU kernels (gpu/*.mutant) are edits of generated code and need no build: test_ptx plants them itself, in its
# test case "every planted bug is reported"; tests/unit/ptx/emulator/planted_bugs.hpp has their format.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/mutants
jobs=$(nproc)
time_limit=300
touched=no touched_commits=5 most_touched=5 least_touched=2
names=()
while [ $# -gt 0 ]; do
  case $1 in
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    --touched) touched=yes ;;
    --*) sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) names+=("$1") ;;
  esac
  shift
done
work=$(mktemp -d "${TMPDIR:-/tmp}/dyn-mutants-XXXXXX")
trap 'rm -rf "$work"' EXIT

field() { sed -nE "s/^# $2: //p" "$here/$1.sed"; }

all_names() { for mutant in "$here"/*.sed; do basename "$mutant" .sed; done; }

# Without git, none.
touched_files() {
  local base
  base=$(git -C "$root" rev-list --max-count=$((touched_commits + 1)) HEAD 2>/dev/null | tail -1)
  [ -z "$base" ] || git -C "$root" diff --name-only "$base"
}

choose_touched() {
  local seed=${DYN_SWEEP_SEED:-$RANDOM} name
  echo "DYN_SWEEP_SEED=$seed"
  touched_files >"$work/touched"
  while IFS= read -r name; do
    if grep -qxF -e "$(field "$name" file)" -e "tests/mutants/$name.sed" "$work/touched"; then echo "$name" >>"$work/first"; else echo "$name" >>"$work/others"; fi
  done < <(all_names)
  shuffle() { [ ! -f "$1" ] || shuf --random-source=<(yes "$seed") "$1"; }
  mapfile -t names < <({ shuffle "$work/first" | head -n $most_touched; shuffle "$work/others"; } |
    head -n "$(count=$(cat "$work/first" 2>/dev/null | wc -l); count=$((count > most_touched ? most_touched : count)); echo $((count > least_touched ? count : least_touched)))")
}

# The command that ninja would run for one of its outputs, without what writes dependencies and touches the build folder. A mutant may
# leave something unused: that is no error.
command_for() { ninja -C "$build" -t commands "$1" 2>/dev/null | tail -1 | sed -E 's/ -MD -MT [^ ]+ -MF [^ ]+//; s/ -Werror / /'; }

# Objects of the library, and of the test program, whose units hold a file, or include it.
objects_with() {  # file, program
  local unit
  if [[ $1 == *.cpp ]]; then
    unit=$(grep -lF "\"$root/$1\"" "$build"/CMakeFiles/dyn_*.dir/Unity/*.cxx 2>/dev/null | grep -v /dyn_test | head -1)
    if [ -n "$unit" ]; then echo "${unit#"$build"/}.o"; else (cd "$build" && ls CMakeFiles/dyn_*.dir/"$1".o); fi
  else
    # With ccache the compiler is given paths that begin at the build folder.
    ninja -C "$build" -t deps | awk -v file="$root/$1" -v relative="$(realpath --relative-to="$build" "$root/$1")" -v own="dyn_$2.dir" '/^[^ ]/ { object = $1; sub(/:$/, "", object) }
      ($1 == file || $1 == relative) && object ~ /^CMakeFiles\/dyn_/ && (index(object, own) || object !~ /dyn_(test_[a-z]*\.|precompiled)/ || object ~ /dyn_test_support/) { print object }' | sort -u
  fi
}

mutant_object() { echo "$(basename "$1")-$(cksum <<<"$1" | cut -d' ' -f1).o"; }

# Compiles one object of the mutant: with the edited file instead of the tree's, and in less time than the tree's.
compile() {  # folder, object, file
  local folder=$1 object=$2 file=$3 command source=
  command=$(command_for "$object")
  [ -n "$command" ] || { echo "error: ninja has no command for $object"; return 1; }
  command=${command/ -o $object/ -o $folder/$(mutant_object "$object") -iquote $folder/tree -O1}
  if [[ $file == *.cpp ]]; then
    source=$(sed -E 's/.* -c ([^ ]+).*/\1/' <<<"$command")
    if [[ $source == *"$file" ]]; then
      command=${command/ -c $source/ -c $folder/tree/$file}
    else
      sed "s|\"$root/$file\"|\"$folder/tree/$file\"|" "$source" >"$folder/unit.cxx"
      command=${command/ -c $source/ -c $folder/unit.cxx}
    fi
  fi
  (cd "$build" && eval "$command")
}

# The mutant's objects stand first: of two definitions the first one counts. The program's own leave the command. Code that was compiled
# ahead of time is the sound generator's: a mutant has none, unless it is about that.
link() {  # folder, program, objects...
  local command object no_table=CMakeFiles/dyn-aot.dir/generated/no_table.cpp.o
  [ "$(field "$(basename "$1")" ahead_of_time)" != kept ] || no_table=
  command=$(command_for "tests/$2" | sed -E 's/^: && //; s/ && :$//')
  for object in "${@:3}"; do command=${command/ $object / }; done
  command=${command/ -o tests\/$2/ $folder/*.o $no_table -o $folder/program -Wl,--allow-multiple-definition}
  (cd "$build" && eval "$command")
}

# The test's own exit code; a cache of its own, since code that a mutant generates must not be found by the next.
passes() {  # program, test case, folder
  mkdir -p "$3"
  DYN_CACHE_DIR=$3/cache DYN_SEED=1 DYN_SWEEP_SEED=1 timeout "$time_limit" "$1" --test-case="$2" >"$3/log" 2>&1
}

# A sweep that the default lane thins may notice in full only. What hangs, as a mutant that spoils memory may, is noticed after many times
# what the sound program took.
noticed() {  # program, test case, folder
  ! time_limit=$hang_limit passes "$@" || ! DYN_TEST_LANE=all passes "$@"
}

try_mutant() {  # name
  local name=$1 folder=$work/$1 file target test object
  file=$(field "$name" file) target=$(field "$name" target) test=$(field "$name" test)
  local needs
  needs=$(field "$name" needs)
  if [ -n "$needs" ] && ! grep -qw "$needs" /proc/cpuinfo; then echo "skipped mutants.cpu: $name needs $needs"; return; fi
  mkdir -p "$folder/tree/$(dirname "$file")"
  sed -f "$here/$name.sed" "$root/$file" >"$folder/tree/$file"
  if cmp -s "$folder/tree/$file" "$root/$file"; then echo "failed $name: its edit finds nothing in $file"; return; fi
  local began=$SECONDS
  if ! passes "$build/tests/$target" "$test" "$folder/sound"; then echo "failed $name: its test fails without the mutant as well"; return; fi
  if ! grep -qE 'test cases: +[1-9]' "$folder/sound/log"; then echo "failed $name: $target has no test case '$test' (a comma in a name needs a wildcard)"; return; fi
  local hang_limit=$((30 + 20 * (SECONDS - began))) objects
  mapfile -t objects < <(objects_with "$file" "$target")
  for object in "${objects[@]}"; do
    compile "$folder" "$object" "$file" >"$folder/log" 2>&1 || { echo "failed $name: it does not build: $(grep -m1 'error' "$folder/log")"; return; }
  done
  if ! link "$folder" "$target" "${objects[@]}" >"$folder/log" 2>&1; then
    echo "failed $name: it does not link: $(grep -m1 'error' "$folder/log")"
  elif noticed "$folder/program" "$test" "$folder"; then
    echo "ok $name"
  else
    echo "failed $name: $target, '$test' did not notice"
  fi
  rm -rf "$folder"
}

# The test cases that mutants name exist, those of mutants that are not run too: tests get other names.
check_names() {
  local name target test case found missing=0
  while IFS= read -r name; do
    target=$(field "$name" target) test=$(field "$name" test) found=no
    [ -f "$work/cases_$target" ] || "$build/tests/$target" --list-test-cases >"$work/cases_$target"
    while IFS= read -r case; do
      # shellcheck disable=SC2053  # a pattern
      if [[ ${case,,} == ${test,,} ]]; then found=yes; break; fi
    done <"$work/cases_$target"
    [ $found = yes ] || { echo "failed $name: $target has no test case '$test' (a comma in a name needs a wildcard)"; missing=1; }
  done < <(all_names)
  return $missing
}

named=0
check_names || named=1
if [ $touched = yes ]; then choose_touched; fi
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(all_names)
export -f try_mutant field mutant_object command_for objects_with compile link passes noticed
export build root here work time_limit
printf '%s\n' "${names[@]}" | xargs -P "$jobs" -I{} bash -c 'try_mutant {}' | tee "$work/results"
[ "$(grep -cE '^(ok|skipped) ' "$work/results")" -eq ${#names[@]} ] && [ $named = 0 ]
