# Constants in the bodies of loops become a weight for each step.
# file: src/import/onnx/unrolling.hpp
# target: test_import
# test: constants in the bodies of loops are weights once*
s/++state_.unrolled_loops;/static_cast<void>(state);/
s/if (--state_.unrolled_loops == 0)/if (state_.unrolled_loops == 0)/
