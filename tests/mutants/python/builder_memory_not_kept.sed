# A weight's memory is given back once the builder has its value.
# file: src/python/bindings/build/builder_object.cpp
# test: test_memory_of_weights_is_kept_until_the_last_load
s/if (lent\.loan != nullptr) self/if (false) self/
