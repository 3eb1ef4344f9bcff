# What a host in C lends is released, too, where dyn has not taken it.
# file: src/c/lent.hpp
# target: test_runtime
# test: C: the host*memory is given back
s/if (taken_ && functions_.release != nullptr)/if (functions_.release != nullptr)/
