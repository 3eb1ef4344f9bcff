#!/usr/bin/env bash
# Includes point one way: include <- graph <- src/rkernel <- targets <- src/runtime <- src/cli. Prints one line for each check,
# "ok NAME" or "failed NAME: what", and exits with 1 where one failed.
set -uo pipefail
cd "$(dirname "$0")/.."
failures=0

report() {  # name, offending lines
  if [ -z "$2" ]; then
    echo "ok $1"
  else
    echo "failed $1:"
    printf '%s\n' "$2" | sed 's/^/    /'
    failures=$((failures + 1))
  fi
}

# What the files of a folder include from this repository, and must not.
includes() {  # folder, pattern of what is forbidden
  grep -rnE --include='*.hpp' --include='*.cpp' "^ *# *include *[<\"]($2)" "$1" 2>/dev/null || true
}

report "include knows only itself"   "$(includes include 'graph/|src/|targets/|tests/')"
report "graph sees include only"     "$(includes graph 'src/|targets/|tests/')"
report "base sees include only"      "$(includes src/base 'graph/|src/rkernel|src/runtime|src/cli|targets/|tests/')"
report "rkernel sees graph"          "$(includes src/rkernel 'src/runtime|src/cli|src/peak|targets/|tests/')"
report "targets see rkernel"         "$(includes targets 'src/runtime|src/cli|src/peak|tests/')"
report "reference sees graph only"   "$(includes targets/reference 'src/|targets/llvm|targets/cpu|tests/')"
report "import sees graph only"      "$(includes src/import 'src/(base|rkernel|runtime|cli|peak|peer)|targets/|tests/')"
report "llvm does not see machines"  "$(includes targets/llvm "targets/(cpu|ptx|reference)")"
report "runtime does not see cli"    "$(includes src/runtime 'src/cli|src/pe[ae]|tests/')"
report "peak stands alone"           "$(includes src/peak 'dyn/|graph/|src/(base|rkernel|runtime|cli)|targets/|tests/')"
report "peer sees vendor only"       "$(includes src/peer 'dyn/|graph/|src/(base|rkernel|runtime|cli|peak)|targets/(llvm|cpu|ptx|reference)|tests/')"
report "vendor stands alone"         "$(includes targets/vendor 'dyn/|graph/|src/|targets/(llvm|cpu|ptx|reference)|tests/')"
report "examples see dyn.hpp only"   "$(includes examples 'graph/|src/|targets/|tests/')"

hardware='llvm/|llvm-c/|oneapi/|tbb/|cuda|nvrtc'
report "no LLVM, TBB, CUDA in include and graph" "$(includes include "$hardware"; includes graph "$hardware")"
report "LLVM in targets/llvm, cpu and ptx only" "$(includes src 'llvm/|llvm-c/'; includes targets/reference 'llvm/|llvm-c/')"

# LLVM's headers are slow to compile and easy to spread.
most_llvm_files=60
llvm_files=$(grep -rlE --include='*.hpp' --include='*.cpp' '^ *# *include *[<"]llvm/' src targets graph include 2>/dev/null | wc -l)
if [ "$llvm_files" -le "$most_llvm_files" ]; then llvm_message=""; else llvm_message="$llvm_files files include LLVM"; fi
report "few files include LLVM" "$llvm_message"

long_files=$(find include graph src targets examples -name '*.[ch]pp' -size +0 -exec wc -l {} + | awk '$2 != "total" && $1 > 400')
report "no file over 400 lines" "$long_files"

exit $((failures > 0))
