# What an operator of a builder raises in a run is the cause of no error.
# file: src/python/bindings/build/builder_object.cpp
# test: test_operators_of_the_program
s/to_options(keywords, self\.building->failure())/to_options(keywords)/
