# Values tell of a model that is being changed.
# file: src/python/bindings/build/value_object.cpp
# test: test_a_builder_at_work_is_left_alone
s/if (self\.building != nullptr) self\.building->check();//
