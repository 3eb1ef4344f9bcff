#!/usr/bin/env bash
# A host that stays in charge, by programs that a user would write against an installed dyn: its headers, its library and dynrun.
# Prints "ok NAME" or "failed NAME" lines, and what was measured in "note: ..." lines.
#   tests/install/in_charge/run.sh PREFIX
# Needs a C and a C++ compiler and pkg-config; nothing else of the tree but tests/plugins, and Python where that has no plugged.onnx.
. "$(dirname "$0")/../support.sh" "$@"
prefix=$build_dir
programs=$source_dir/in_charge
plugins=$root/tests/plugins
folder=$(dirname "$(find "$prefix/lib" -name dyn.pc -print -quit)")
[ "$prefix" = /usr ] || export PKG_CONFIG_PATH=$folder LD_LIBRARY_PATH=${folder%/pkgconfig}

build() {  # source
  local compiler="cc -std=c11"
  [[ $1 != *.cpp ]] || compiler="c++ -std=c++20"
  $compiler -O1 -Wall -Wextra "$programs/$1" -o "$scratch/${1%.*}" $(pkg-config --cflags --libs dyn) -pthread -lm
}
show() {  # name, source, arguments...
  local name=$1 source=$2
  shift 2
  check "$source builds" build "$source"
  check "$name" "$scratch/${source%.*}" "$@"
}
plugin_by_dynrun() {  # rows
  local answer
  answer=$("$prefix/bin/dynrun" run "$scratch/plugged.onnx" --plugin "$scratch/scale.so" --dims "N=$1") || { echo "$answer"; return 1; }
  grep -F "[$1, 2]" <<<"$answer" || { echo "no output of $1 rows: $answer"; return 1; }
}
model_of_the_plugin() { cp "$plugins/plugged.onnx" "$scratch" 2>/dev/null || python3 "$plugins/plugged_onnx.py" >"$scratch/plugged.onnx"; }

show "a deadline and a cancellation end a run, and the next one is right" deadline.cpp
show "an executor's threads do all the work, and dyn starts none" executor.c
show "a memory budget refuses, and trim() gives back" memory.c
check "a plug-in builds with its header alone" cc -std=c11 -Wall -Wextra -shared -fPIC -I "$prefix/include" "$plugins/scale.c" -o "$scratch/scale.so"
check "an ONNX file uses it" model_of_the_plugin
show "a program runs that file at two sizes" plugin.c "$scratch/plugged.onnx" "$scratch/scale.so"
if [ -x "$prefix/bin/dynrun" ]; then
  for rows in 3 500; do check "dynrun --plugin runs that file with $rows rows" plugin_by_dynrun $rows; done
fi
exit $((failures > 0))
