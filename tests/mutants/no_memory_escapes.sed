# Want of memory leaves load and run as std::bad_alloc.
# file: src/runtime/load/graph.cpp
# target: test_runtime
# test: an allocation that fails is an error*
s/} catch (const std::bad_alloc&) {/} catch (const std::bad_exception\&) {/
