# The open dim of a reshape is rounded down to whole dims.
# file: graph/ops/view.cpp
# target: test_import
# test: an open dim of a reshape*
s/if (!division.remainder.empty()) return std::nullopt;//
