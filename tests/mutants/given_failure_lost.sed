# What a kernel of the program throws is forgotten before the run asks for it.
# file: targets/host/kernel.cpp
# target: test_runtime
# test: what a kernel throws reaches calls* and the emulated GPU
s/return failures_->take(status);/return nullptr;/
