# What one branch asks of sizes is asked in both.
# file: src/import/onnx/branches.cpp
# target: test_import
# test: imported: conditions on sizes in one branch do not bind the other
s/if (ask_of_sizes(context, first)) context/if (false) context/
