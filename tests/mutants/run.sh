#!/usr/bin/env bash
# Breaks dyn on purpose, one mutant at a time, and checks that the named test notices.
#
#   bash tests/mutants/run.sh BUILD_DIR [--touched] [--oldest SHARE] [--minutes N] [--jobs N] [NAME...]
#
# A mutant is a file NAME.sed here: an edit of one source file, and comments that say what it breaks, which file, which test program
# has the test, which of its test cases must fail, where only some CPUs run what it breaks a flag that they need, and whether code that
# was compiled ahead of time is kept. The tree stays as it is: of BUILD_DIR, which must be built, only what holds the file is compiled
# again, from an edited copy, and linked with everything else into a program of the mutant's own.
# Those that were noticed are remembered in BUILD_DIR/mutants: choose.py says by what, which are tried, and what its options mean.
#   --minutes N   none begins after N minutes; the next run goes on with those that remain
# Prints "ok NAME", "failed NAME: reason" or "skipped mutants.cpu: reason" for each.
# Bugs in GPU kernels (gpu/*.mutant) are edits of generated code and need no build: test_ptx plants them itself, in its
# test case "every planted bug is reported"; tests/unit/ptx/emulator/planted_bugs.hpp has their format.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/mutants
jobs=$(nproc)
longest_sound=600  # seconds
last_begin=
choice=()
while [ $# -gt 0 ]; do
  case $1 in
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    --minutes) last_begin=$(($(date +%s) + 60 * ${2:?--minutes needs a number})); shift ;;
    --touched) choice+=(--touched) ;;
    --oldest) choice+=(--oldest "${2:?--oldest needs a number}"); shift ;;
    --*) sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) choice+=("$1") ;;
  esac
  shift
done
work=$(mktemp -d "${TMPDIR:-/tmp}/dyn-mutants-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$build/mutants"

field() { sed -nE "s/^# $2: //p" "$here/$1.sed"; }

# The command that ninja would run for one of its outputs, without what writes dependencies and touches the build folder. A mutant may
# leave something unused: that is no error.
command_for() { ninja -C "$build" -t commands "$1" 2>/dev/null | tail -1 | sed -E 's/ -MD -MT [^ ]+ -MF [^ ]+//; s/ -Werror / /'; }

# The objects of the library, and of the test program, that include a header; the object of a file that is in no unit.
objects_with() {  # file, program
  if [[ $1 == *.cpp ]]; then
    (cd "$build" && ls CMakeFiles/dyn_*.dir/"$1".o)
  else
    # With ccache the compiler is given paths that begin at the build folder.
    ninja -C "$build" -t deps | awk -v file="$root/$1" -v relative="$(realpath --relative-to="$build" "$root/$1")" -v own="dyn_$2.dir" '/^[^ ]/ { object = $1; sub(/:$/, "", object) }
      ($1 == file || $1 == relative) && object ~ /^CMakeFiles\/dyn_/ && (index(object, own) || object !~ /dyn_(test_[a-z]*\.|precompiled)/ || object ~ /dyn_test_support/) { print object }' | sort -u
  fi
}

new_object() { echo "$(basename "$1")-$(cksum <<<"$1" | cut -d' ' -f1).o"; }

# Compiles an object as the build does, but in less time, to another place, and from another source where one is given.
compile() {  # object, where to, source or nothing, more arguments
  local command source
  command=$(command_for "$1")
  [ -n "$command" ] || { echo "error: ninja has no command for $1"; return 1; }
  source=$(sed -E 's/.* -c ([^ ]+).*/\1/' <<<"$command")
  command=${command/ -o $1/ -o $2 ${*:4} -O1}
  (cd "$build" && eval "${command/ -c $source/ -c ${3:-$source}}")
}

# Where several mutants edit files of a unit, each of these files is compiled for itself, and once what remains of the unit: a mutant
# then costs one file. Nothing of the unit stays in which a function of the tree's file is inlined.
split_unit() {  # unit, folder, files...
  local unit=$1 folder=$2 file
  mkdir -p "$folder"
  cp "$build/$unit" "$folder/rest.cxx"
  for file in "${@:3}"; do
    sed -i "\|^#include \"$root/$file\"|d" "$folder/rest.cxx"
    compile "$unit.o" "$folder/$(new_object "$file")" "$root/$file" || return 1
  done
  compile "$unit.o" "$folder/rest.o" "$folder/rest.cxx"
}

# The objects of a mutant go to its folder; the build's that they replace are listed there.
compile_mutant() {  # folder, unit, file, program, folder of the split unit
  local folder=$1 unit=$2 file=$3 split=$5 object source=
  if [ "$unit" = - ]; then
    [[ $file != *.cpp ]] || source=$folder/tree/$file
    objects_with "$file" "$4" >"$folder/replaced"
    while IFS= read -r object; do compile "$object" "$folder/$(new_object "$object")" "$source" -iquote "$folder/tree" || return 1; done <"$folder/replaced"
    return
  fi
  echo "$unit.o" >"$folder/replaced"
  source=$folder/unit.cxx
  if [ -n "$split" ]; then
    ln -s "$split"/*.o "$folder/"
    rm "$folder/$(new_object "$file")"
    source=$folder/tree/$file
  else
    sed "s|\"$root/$file\"|\"$folder/tree/$file\"|" "$build/$unit" >"$source"
  fi
  compile "$unit.o" "$folder/mutant.o" "$source" -iquote "$folder/tree"
}

# The mutant's objects stand first: of two definitions the first one counts. The program's own leave the command. Code that was compiled
# ahead of time is the sound generator's: a mutant has none, unless it is about that.
link() {  # folder, program
  local command object no_table=CMakeFiles/dyn-aot.dir/generated/no_table.cpp.o
  [ "$(field "$(basename "$1")" ahead_of_time)" != kept ] || no_table=
  command=$(command_for "tests/$2" | sed -E 's/^: && //; s/ && :$//')
  while IFS= read -r object; do command=${command/ $object / }; done <"$1/replaced"
  command=${command/ -o tests\/$2/ $1/*.o $no_table -o $1/program -Wl,--allow-multiple-definition}
  (cd "$build" && eval "$command")
}

# The test's own exit code; a cache of its own, since code that a mutant generates must not be found by the next.
passes() {  # lane, program, test case, folder, time limit, more arguments
  mkdir -p "$4"
  DYN_TEST_LANE=$1 DYN_CACHE_DIR=$4/cache DYN_SEED=1 DYN_SWEEP_SEED=1 timeout "$5" "$2" --test-case="$3" "${@:6}" >"$4/log" 2>&1
}

# The seconds that the test takes without a mutant, found once for all that name it; fails where it does not pass.
sound_seconds() {  # lane, program, test case
  local folder began=$SECONDS
  folder=$work/sound/$(cksum <<<"$*" | tr ' ' -)
  if [ ! -f "$folder/seconds" ]; then
    passes "$1" "$build/tests/$2" "$3" "$folder" $longest_sound || return 1
    rm -rf "$folder/cache"
    echo $((SECONDS - began)) >"$folder/new" && mv "$folder/new" "$folder/seconds"
  fi
  cat "$folder/seconds"
}

# If the test notices: "yes", "no", or "unsound" where it fails without the mutant as well. A sweep that the default lane thins may
# notice in full only, which takes long and is tried last. The first check that fails is enough. What hangs, as a mutant that spoils
# memory may, is noticed after many times what the sound program takes.
notices() {  # program of the mutant, program, test case, folder
  local lane sound
  for lane in default all; do
    sound=$(sound_seconds $lane "$2" "$3") || { echo unsound; return; }
    passes $lane "$1" "$3" "$4" $((30 + 20 * sound)) --abort-after=1 || { echo yes; return; }
  done
  echo no
}

try_mutant() {  # name, unit, file, program, test case, folder of the split unit
  local name=$1 unit=$2 file=$3 program=$4 test=$5 folder=$work/$1 needs
  needs=$(field "$name" needs)
  if [ -n "$needs" ] && ! grep -qw "$needs" /proc/cpuinfo; then echo "skipped mutants.cpu: $name needs $needs"; return; fi
  mkdir -p "$folder/tree/$(dirname "$file")"
  sed -f "$here/$name.sed" "$root/$file" >"$folder/tree/$file"
  if cmp -s "$folder/tree/$file" "$root/$file"; then echo "failed $name: its edit finds nothing in $file"; return; fi
  if ! compile_mutant "$folder" "$unit" "$file" "$program" "$6" >"$folder/log" 2>&1; then
    echo "failed $name: it does not build: $(grep -m1 'error' "$folder/log")"
    return
  elif ! link "$folder" "$program" >"$folder/log" 2>&1; then
    echo "failed $name: it does not link: $(grep -m1 'error' "$folder/log")"
    return
  fi
  case $(notices "$folder/program" "$program" "$test" "$folder") in
    yes) echo "ok $name" ;;
    no) echo "failed $name: $program, '$test' did not notice" ;;
    *) echo "failed $name: its test fails without the mutant as well" ;;
  esac
}

# All mutants of one unit that were chosen. What came out is remembered at once: an interrupted run keeps what it has.
try_group() {  # file of choose.py
  local least_to_split=3 group=$1 name digest unit file program test split= memory outcome
  IFS=$'\t' read -r name digest unit file program test <"$group"
  if [ "$unit" != - ] && [ "$(wc -l <"$group")" -ge $least_to_split ] && [ "$(date +%s)" -lt "${last_begin:-99999999999}" ]; then
    split=$group.split
    split_unit "$unit" "$split" $(cut -f4 "$group" | sort -u) >"$group.log" 2>&1 || split=
  fi
  while IFS=$'\t' read -r name digest unit file program test <&3; do
    if [ "$(date +%s)" -ge "${last_begin:-99999999999}" ]; then echo "$name" >>"$work/remaining"; continue; fi
    memory=$build/mutants/$name
    outcome=$(try_mutant "$name" "$unit" "$file" "$program" "$test" "$split")
    rm -rf "${work:?}/$name"
    echo "$outcome"
    if [ "${outcome%% *}" = ok ]; then echo "$digest $(date +%s)" >"$memory.new" && mv "$memory.new" "$memory"; else rm -f "$memory"; fi
  done 3<"$group"
  rm -rf "$split"
}

python3 "$here/choose.py" "$build" "$work" ${choice[@]+"${choice[@]}"}
all_named=$?
export -f try_group try_mutant split_unit compile_mutant compile link field new_object command_for objects_with passes sound_seconds notices
export build root here work longest_sound last_begin
find "$work/groups" -type f | sort | xargs -r -P "$jobs" -I{} bash -c 'try_group {}' | tee "$work/results"
tried=$(cat "$work"/groups/* 2>/dev/null | wc -l)
remaining=$(cat "$work/remaining" 2>/dev/null | wc -l)
tried=$((tried - remaining))
echo "note: $tried mutants were tried$([ "$remaining" -eq 0 ] || echo "; $remaining remain for the next run")"
[ "$(grep -cE '^(ok|skipped) ' "$work/results")" -eq "$tried" ] && [ $all_named = 0 ]
