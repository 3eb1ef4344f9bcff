#!/usr/bin/env bash
# Measures matmul on all suites, warm and cold, beside the peers of the system, and writes docs/performance.md and its plots.
#   tests/bench/run_all.sh BUILD OUT     OUT: a folder for the CSV files and the log of the peers
# Environment: PEERS (default onednn,openblas,blis), THREADS (default: 1 and all CPUs), SUITES (default: transformer cnn gnn deepbench),
# FLAGS: more of dynrun op; RUN: a command that each measurement goes through, such as one that waits until the machine is idle;
# DOCS: the folder of performance.md. Takes tens of minutes.
set -euo pipefail
if [ $# -ne 2 ]; then
  sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
peers=${PEERS:-onednn,openblas,blis}
cpus=$(nproc)
threads=${THREADS:-$([ "$cpus" -gt 1 ] && echo "1,$cpus" || echo 1)}
read -ra run <<<"${RUN:-}"
read -ra more <<<"${FLAGS:-}"

"${run[@]}" "$build/bin/dynrun" devices --format csv >"$out/devices.txt"
for suite in ${SUITES:-transformer cnn gnn deepbench}; do
  for state in warm cold; do
    flags=()
    [ $state = cold ] && flags=(--cold)
    for count in ${threads//,/ }; do
      file=$out/$suite-$state-$count.csv
      echo "$suite $state, threads $count" >&2
      "${run[@]}" "$build/bin/dynrun" op matmul --suite "$here/suites/gemm-$suite.txt" --threads "$count" --peers "$peers" --format csv "${flags[@]}" "${more[@]}" \
        >"$file.part" 2>"$out/$suite-$state-$count.log"
      mv "$file.part" "$file"
    done
  done
done

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
versions=$(sed -n 's/^dynrun: peer \([a-z0-9_]*\): \(.*\)$/\1: \2/p' "$out"/*.log | sort -u | paste -sd';' | sed 's/;/; /g')
machine="Measured on $(LC_ALL=C date '+%-d %B %Y'), $cpus CPUs of an $cpu. Peers: $versions."
python3 "$here/performance.py" "$out"/*.csv --machine "$machine" ${DOCS:+--docs "$DOCS"}
