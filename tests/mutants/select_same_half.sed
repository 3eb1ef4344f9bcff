# The oracle of dynrun select is scored by the samples that it was chosen by.
# file: src/cli/select/sampling.cpp
# target: test_cli
# test: select: among equals*
s/std::optional(percentile(scoring, lower_quartile))/std::optional(percentile(choosing, lower_quartile))/
