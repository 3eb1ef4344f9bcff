# The tickets that are left go to the thread that is done last.
# file: src/choice/cost/program_cost.cpp
# target: test_cpu
# test: a team of threads is done when a simulation of them is
s/\*std::ranges::min_element(busy_) += group\.seconds/*std::ranges::max_element(busy_) += group.seconds/
