# The end of the interpreter unwinds a thread through C++.
# file: src/python/bindings/gil.cpp
# test: test_a_program_ends_while_a_thread_runs
s/for (;;) ::pause();/__builtin_trap();/
