# The memory of a strip is for windows of one image.
# file: src/choice/cost/cost.hpp
# target: test_cpu
# test: a block in a strip pays*
s/steps \* std::max(step, taps) + taps/steps * step + taps/
