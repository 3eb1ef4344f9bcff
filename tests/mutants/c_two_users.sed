# Two threads may be in functions on one call of C.
# file: src/c/handles.cpp
# target: test_runtime
# test: C: a call has one user at a time
s/if ((word & one_user_bit) != 0 &&/if ((word \& one_user_bit) != 0 \&\& false \&\&/
