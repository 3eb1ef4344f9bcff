# The index of a later slice is read behind the last one.
# file: targets/cpu/loop/chunks.cpp
# target: test_codegen
# test: gather of rows*
s/builder_\.CreateBinaryIntrinsic(llvm::Intrinsic::smin, later, last)/later/
