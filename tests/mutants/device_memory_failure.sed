# What the work of a run fails with while another waits for it is told to nobody.
# file: src/runtime/run/run_pool.cpp
# target: test_runtime
# test: device memory: what a left run*
s/failure_ = std::current_exception();//
