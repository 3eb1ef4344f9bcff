# A run that fails tells its profile nothing.
# file: src/python/bindings/profile_object.cpp
# test: test_a_run_that_fails_tells_what_it_did
s/~Told() { known_profile/~Told() { if (std::uncaught_exceptions() == 0) known_profile/
