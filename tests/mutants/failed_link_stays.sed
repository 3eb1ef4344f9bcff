# What could not be linked keeps its name.
# file: targets/llvm/jit/jit.cpp
# target: test_codegen
# test: code that cannot be linked*
s/if (llvm::Error error = tracker->remove()) llvm::consumeError(std::move(error));//
