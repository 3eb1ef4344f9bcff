#!/usr/bin/env bash
# Installs what is missing, builds dyn, and runs its tests: CTest's stages, as cmake/stages.cmake lists them.
#
#   bash tests/run.sh                  the default lane: every kind of proof, its sweeps thinned by a seed that a failure prints
#   bash tests/run.sh --all            everything: full sweeps, sanitizers over all, exploring fuzzers, AVX-512 in an emulator, mutants
#   bash tests/run.sh --stage NAME     that stage, and what it needs; again for more of them
#   bash tests/run.sh --list           the stages, their lanes, and the seconds that each took last; how many tests there are
#
#   --again                  also the stages whose inputs are as they were when they passed
#   --jobs N                 stages at a time (default: one for each processor)
#   --junit FILE             CTest's report, for other programs
#   --no-install-packages    nothing is installed
#
# Ends with the seconds of each stage, longest first, and "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.."
build=build/release
results=$build/stages

lane=default
stages=()
list=no
install_packages=yes
options=(-j "$(nproc)")
usage() { sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --all) lane=all ;;
    --stage) stages+=("${2:?--stage needs a name}"); shift ;;
    --list) list=yes ;;
    --again) export DYN_TEST_AGAIN=yes ;;
    --jobs) options+=(-j "${2:?--jobs needs a number}"); shift ;;
    --junit) options+=(--output-junit "$(realpath -m "${2:?--junit needs a file}")"); shift ;;
    --no-install-packages) install_packages=no ;;
    *) usage ;;
  esac
  shift
done
export DYN_TEST_LANE=$lane

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# What this script does itself counts like any stage.
step() {  # name, command...
  local name=$1 begun=$SECONDS
  shift
  echo "== $name"
  mkdir -p "$results"
  if "$@" >"$log" 2>&1; then
    echo "$((SECONDS - begun)) 1 0 0 passed" >"$results/$name.result"
  else
    echo "$((SECONDS - begun)) 0 1 0 failed" >"$results/$name.result"
    { grep -hE -A4 'error:|CMake Error|FAILED:' "$log" || tail -n 40 "$log"; } | head -60
    own_steps+=("$name")
    return 1
  fi
  own_steps+=("$name")
}
own_steps=()

. tests/python/packages.sh
configure() { cmake --preset release -DDYN_WERROR=ON -DDYN_TESTS=ON -DDYN_EXAMPLES=ON -DDYN_TOOLS=ON $(python_options $build); }
compile() { configure && cmake --build --preset release; }
names() { ctest --test-dir "$build" -N "$@" 2>/dev/null | sed -nE 's/^ *Test +#[0-9]+: (.*)$/\1/p'; }

print_list() {
  local name seconds lane in_default
  in_default=$(names -L '^default$')
  printf '%-24s %-8s %s\n' stage lane "seconds, last time"
  while IFS= read -r name; do
    seconds=-
    [ ! -f "$results/$name.result" ] || read -r seconds _ <"$results/$name.result"
    [ "$seconds" != 0 ] || [ ! -f "$results/$name.pass" ] || read -r _ seconds _ <"$results/$name.pass"
    if grep -qxF "$name" <<<"$in_default"; then lane=default; else lane=all; fi
    printf '%-24s %-8s %s\n' "$name" "$lane" "$seconds"
  done < <(names)
  echo
  echo "$(names | wc -l) stages, $(grep -rh --include='*.cpp' '^TEST_CASE' tests | wc -l) cases of test programs, $(ls tests/mutants/*.sed tests/mutants/python/*.sed | wc -l) mutants"
}

# A stage without a result has not come to its end.
result_of() { cat "$results/$1.result" 2>/dev/null || echo "0 0 1 0 unfinished"; }

# Seconds by stage, longest first; then the sum of what all of them counted.
summary() {
  local name seconds passed failed skipped state sum=(0 0 0)
  echo
  echo "seconds  passed failed skipped  stage"
  while read -r seconds passed failed skipped state name; do
    printf '%7d %7d %6d %7d  %s%s\n' "$seconds" "$passed" "$failed" "$skipped" "$name" "$([ "$state" = unchanged ] && echo ', unchanged since it passed')"
  done < <(for name in "$@"; do echo "$(result_of "$name") $name"; done | sort -k1,1nr -s)
  for name in "$@"; do
    read -r seconds passed failed skipped state < <(result_of "$name")
    if [ "$failed" -gt 0 ]; then
      echo "FAILED $name: see $results/$name.log"
      grep -aE -m3 '^failed |: (FATAL )?ERROR: ' "$results/$name.log" 2>/dev/null | cut -c1-200 | sed 's/^/    /'
    fi
    sum=($((sum[0] + passed)) $((sum[1] + failed)) $((sum[2] + skipped)))
  done
  echo
  echo "$SECONDS s in all"
  echo "${sum[0]} passed, ${sum[1]} failed, ${sum[2]} skipped"
  [ "${sum[1]}" -eq 0 ] && [ "${sum[0]}" -gt 0 ]
  exit
}

if [ $install_packages = yes ]; then step packages bash scripts/install_packages.sh --tests || summary "${own_steps[@]}"; fi
if [ $list = yes ]; then
  step configure configure || summary "${own_steps[@]}"
  print_list
  exit
fi
step build compile || summary "${own_steps[@]}"

choice=(-L "^$lane\$")
if [ ${#stages[@]} -gt 0 ]; then
  for name in "${stages[@]}"; do
    names | grep -qxF "$name" || { echo "no stage '$name'; there are:" $(names) >&2; exit 2; }
  done
  choice=(-R "^($(IFS='|'; echo "${stages[*]//./\\.}"))\$")
fi
mapfile -t chosen < <(names "${choice[@]}")
(cd "$results" && rm -f "${chosen[@]/%/.result}")
echo "== tests"
ctest --test-dir "$build" "${choice[@]}" --output-on-failure --no-tests=error "${options[@]}" 2>&1 |
  grep --line-buffered -E '^ *[0-9]+/[0-9]+ Test|^    |^FAILED' | grep --line-buffered -vE '^ +Start'
for name in "${chosen[@]}"; do [ ! -f "$results/$name.log" ] || sed -nE "s/^note: /   $name: /p" "$results/$name.log"; done
summary "${own_steps[@]}" "${chosen[@]}"
