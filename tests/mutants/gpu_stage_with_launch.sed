# The time of a stage has a part of the launch in it.
# file: targets/ptx/measure/stage_times.cpp
# target: test_ptx
# test: stages that take as long as predicted*
s/return (longer - shorter) .*/return longer \/ static_cast<double>(long_stages + 0 * shorter);/
