# Memory is let go of when the next is asked for alone.
# file: src/python/bindings/host/allocator.cpp
# test: test_weights_arenas_and_outputs_come_from_it
s/if (Py_AddPendingCall(let_go, soon\.get()) == 0)/if (\&let_go == nullptr)/
