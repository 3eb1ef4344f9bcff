# Generated code stays in memory when nobody holds it any more.
# file: targets/llvm/jit/jit.cpp
# target: test_codegen
# test: a function goes with the last one that holds it*
/  void drop(/,/^  }/s/    Linker::remove(tracker);//
