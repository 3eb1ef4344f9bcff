# A small kernel joins a launch before the one that writes what it reads.
# file: src/runtime/load/bundles.cpp
# target: test_kernels
# test: a kernel does not join a launch before what it reads is written
s/if (rkernel::depend(problems_\[between\], problems_\[group\])) return false;//
