#!/usr/bin/env bash
# Includes point one way: include <- graph <- src/rkernel <- src/choice <- targets <- src/runtime <- src/cli, and src/choice <- src/tune <- src/cli; a part's folder, its namespace
# and the folder of its tests have one name. Prints one line for each check, "ok NAME" or "failed NAME: what", and exits with 1 where one failed.
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

# A pattern of all parts of src and targets but some.
all_parts_but() {  # parts
  local part pattern=
  for part in src/*/ targets/*/; do
    case " $* " in *" $(basename "$part") "*) ;; *) pattern+="${pattern:+|}$part" ;; esac
  done
  echo "$pattern"
}

report "include knows only itself"   "$(includes include 'graph/|src/|targets/|tests/')"
report "graph sees include"          "$(includes graph 'src/|targets/|tests/')"
report "base sees include"           "$(includes src/base "$(all_parts_but base)|graph/|tests/")"
report "rkernel sees graph"          "$(includes src/rkernel "$(all_parts_but base rkernel)|tests/")"
report "choice sees rkernel"         "$(includes src/choice "$(all_parts_but base rkernel choice)|tests/")"
report "tune sees choice"            "$(includes src/tune "$(all_parts_but base rkernel choice tune)|tests/")"
report "targets see choice"          "$(includes targets "$(all_parts_but base rkernel choice llvm vendor cpu ptx host reference)|tests/")"
report "llvm sees rkernel"           "$(includes targets/llvm "$(all_parts_but base rkernel llvm)|tests/")"
report "cpu does not see ptx"        "$(includes targets/cpu 'targets/(ptx|reference)')"
report "ptx does not see cpu"        "$(includes targets/ptx 'targets/(cpu|host|reference|vendor)')"
report "reference sees graph and host" "$(includes targets/reference "$(all_parts_but reference host)|tests/")"
report "import sees graph"           "$(includes src/import "$(all_parts_but base import)|tests/")"
report "c sees the API of C++"        "$(includes src/c "$(all_parts_but c)|graph/|tests/")"
report "runtime does not see cli"    "$(includes src/runtime 'src/(cli|peak|peer)|tests/')"
report "cli does not see tests"      "$(includes src/cli 'src/(peak|peer)|tests/')"
report "fit sees choice"             "$(includes src/fit "$(all_parts_but base rkernel choice fit)|tests/")"
report "aot sees cpu"                "$(includes src/aot "$(all_parts_but base rkernel choice llvm cpu aot)|tests/")"
report "peak stands alone"           "$(includes src/peak "$(all_parts_but peak)|dyn/|graph/|tests/")"
report "peer sees vendor"            "$(includes src/peer "$(all_parts_but peer vendor)|dyn/|graph/|tests/")"
report "vendor stands alone"         "$(includes targets/vendor "$(all_parts_but vendor)|dyn/|graph/|tests/")"
report "python sees include"         "$(includes src/python "$(all_parts_but python)|graph/|tests/")"
report "examples see dyn.hpp"        "$(includes examples 'graph/|src/|targets/|tests/')"

hardware='llvm/|llvm-c/|oneapi/|tbb/|cuda|nvrtc'
report "no LLVM, TBB, CUDA in include and graph" "$(includes include "$hardware"; includes graph "$hardware")"
report "LLVM in targets/llvm, cpu and ptx only" "$(includes src 'llvm/|llvm-c/'; for part in host reference vendor; do includes "targets/$part" 'llvm/|llvm-c/'; done)"

# LLVM's headers are slow to compile and easy to spread.
most_llvm_files=60
llvm_files=$(grep -rlE --include='*.hpp' --include='*.cpp' '^ *# *include *[<"]llvm/' src targets graph include 2>/dev/null | wc -l)
if [ "$llvm_files" -le "$most_llvm_files" ]; then llvm_message=""; else llvm_message="$llvm_files files include LLVM"; fi
report "few files include LLVM" "$llvm_message"

# Namespaces: `llvm` would hide LLVM's own namespace, `import` is nearly a word of the language, and base implements the public one.
namespace_of() {
  case $1 in
    base) echo dyn ;;
    runtime) echo 'dyn(::runtime)?' ;;  # the public handles are there
    c) echo 'dyn(::c)?' ;;              # and plug-ins here
    llvm) echo dyn::codegen ;;
    import) echo dyn::onnx ;;
    *) echo "dyn::$1" ;;
  esac
}
strange=
for part in graph src/*/ targets/*/; do
  name=$(namespace_of "$(basename "$part")")
  strange+=$(grep -rHnE --include='*.hpp' --include='*.cpp' '^namespace dyn[a-z_:0-9]* \{$' "$part" | grep -vE ":namespace $name(::[a-z_]+)* \{$")
done
report "namespace = part" "$strange"

strange=
for folder in $(find tests/unit -type f | xargs -n1 dirname | sort -u); do
  room=${folder#tests/unit/}
  case $room in
    conformance | ptx/cuda_header) continue ;;  # a test of the tests; a program of its own headers
  esac
  [ -d "$room" ] || [ -d "src/$room" ] || [ -d "targets/$room" ] || strange+="$folder is no folder of the product"$'\n'
done
report "unit tests stand in the product's tree" "$strange"

full=$(find graph include src targets tests/unit tests/support tests/kernels -type f | xargs -n1 dirname | sort | uniq -c | awk '$1 > 30 { print $2 ": " $1 " files" }')
report "no folder of more than 30 files" "$full"

long_files=$(find include graph src targets examples \( -name '*.[ch]pp' -o -name '*.[ch]' \) -size +0 -exec wc -l {} + | awk '$2 != "total" && $1 > 600')
report "no file over 600 lines" "$long_files"

idle=
for mutant in tests/mutants/*.sed tests/mutants/python/*.sed; do
  file=$(sed -nE 's/^# file: (.*)$/\1/p' "$mutant")
  if [ ! -f "$file" ]; then
    idle+="$mutant: there is no $file"$'\n'
  elif sed -f "$mutant" "$file" | cmp -s - "$file"; then
    idle+="$mutant: its edit finds nothing in $file"$'\n'
  fi
done
report "every mutant edits its file" "$idle"

# Pages for people. Programs write some of them, which may be wider.
pages=$(find . -name '*.md' -not -path './build/*' -not -path './.git/*')
dead=
while IFS=: read -r page link; do
  [ -e "$(dirname "$page")/${link%%#*}" ] || dead+="$page: $link"$'\n'
done < <(grep -oHE '\]\([^) #]+[^) ]*\)' $pages | sed -E 's/\]\((.*)\)$/\1/' | grep -vE ':[a-z]+://')
report "links of pages lead somewhere" "$dead"

wide=$(awk 'FNR == 1 { fence = 0 } /^```/ { fence = !fence } !fence && !/^(\||    )/ && length > 100 { print FILENAME ":" FNR ": " length " columns" }' \
  $(grep -vE '^\./docs/(conformance|device_operations|ir)\.md$' <<<"$pages"))
report "lines of pages have at most 100 columns" "$wide"

# Facts, raw results and page, without measuring.
report "docs/papers.md is what facts and results give" "$(python3 tests/bench/papers/make_page.py --check 2>&1)"
report "broken facts of papers are refused" "$(python3 tests/bench/papers/facts_test.py 2>&1)"

exit $((failures > 0))
