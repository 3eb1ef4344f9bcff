# A profile that is used again tells of the run before.
# file: src/python/bindings/profile_object.cpp
# test: test_calls_and_sessions_fill_it_anew
s/\*list = nb::none();/static_cast<void>(list);/
