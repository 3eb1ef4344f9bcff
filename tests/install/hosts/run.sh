#!/usr/bin/env bash
# libdyn in programs that have a protobuf and an LLVM of their own, Debian's shared ones: linked or opened before libdyn and after it.
# Prints "ok NAME" or "failed NAME" lines.
#   tests/install/hosts/run.sh BUILD_DIR
. "$(dirname "$0")/../support.sh" "$@"
hosts=$source_dir/hosts
llvm=/usr/lib/llvm-19
library=$build_dir/libdyn.so

build() {  # output, words for the compiler...
  local output=$1
  shift
  c++ -std=c++20 -O1 -Wl,-z,now -Wl,--no-as-needed "$@" -o "$scratch/$output"
}
run() { env LD_LIBRARY_PATH="$build_dir:$llvm/lib" "$@"; }

dyn=("$scratch/libuser.so" "$library" -Wl,-rpath-link="$build_dir")
others=("$scratch/libothers.so" -lprotobuf -L"$llvm/lib" -lLLVM-19)
check "a library that uses dyn builds" build libuser.so -shared -fPIC -I"$root/include" "$hosts/user.cpp" "$library"
check "a library that uses protobuf and LLVM builds" build libothers.so -shared -fPIC -isystem "$llvm/include" "$hosts/others.cpp" \
  -lprotobuf -L"$llvm/lib" -lLLVM-19
check "hosts build" eval 'build opens "$hosts/host.cpp" && build first -DDYN_LINKED "$hosts/host.cpp" -Wl,-rpath,"$scratch" "${dyn[@]}" "${others[@]}" &&
  build last -DDYN_LINKED "$hosts/host.cpp" -Wl,-rpath,"$scratch" "${others[@]}" "${dyn[@]}"'
check "linked before protobuf and LLVM" run "$scratch/first" "$scratch"
check "linked after protobuf and LLVM" run "$scratch/last" "$scratch"
check "opened before protobuf and LLVM" run "$scratch/opens" "$scratch" "$scratch/libuser.so=use_dyn" "$scratch/libothers.so=use_others"
check "opened after protobuf and LLVM" run "$scratch/opens" "$scratch" "$scratch/libothers.so=use_others" "$scratch/libuser.so=use_dyn"

# Another version of them would have functions of the same names that do something else. Here each one ends the program.
poison() {
  { for other in "$llvm/lib/libLLVM-19.so" "$(c++ -print-file-name=libprotobuf.so)"; do nm -D --defined-only "$other"; done |
    awk '{ sub(/@.*/, "", $3); print $3 }' | grep -E '^(_ZN?K?(TI|TS|TV)?N?K?(4llvm|6google8protobuf)|LLVM[A-Z])' | sort -u |
    awk 'BEGIN { print ".text" } { print ".globl \"" $1 "\"\n\"" $1 "\":" } END { print "ud2" }'; } >"$scratch/poison.s"
  [ "$(grep -c globl "$scratch/poison.s")" -gt 20000 ] && cc -shared -nostdlib -o "$scratch/poison.so" "$scratch/poison.s"
}
poisoned() { env LD_PRELOAD="$scratch/poison.so" LD_LIBRARY_PATH="$build_dir:$llvm/lib" "$@"; }
check "a library with all names of LLVM and protobuf builds" poison
check "libdyn calls none of another LLVM or protobuf" poisoned "$scratch/opens" "$scratch" "$scratch/libuser.so=use_dyn"
exit $((failures > 0))
