# The end of the interpreter unwinds a thread through the kernel that it is in.
# file: src/python/bindings/gil.cpp
# test: test_a_program_ends_while_a_thread_is_in_a_kernel
s/} catch (...) { wait_for_end_of_process(); }  .*/} catch (...) { throw; }/
