# A transposed tensor is added to what broadcasts along its channels as if these stood last.
# file: graph/passes/sink_transposes.cpp
# target: test_kernels
# test: windows
s/for (std::size_t i = 0; i < perm.size(); ++i) shape\[perm\[i\]\] = full\[i\];/for (std::size_t i = 0; i < perm.size(); ++i) shape[i] = full[perm[i]];/
