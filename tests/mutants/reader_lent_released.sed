# Memory that a host lends is given back to the system behind its back.
# file: src/runtime/weights/weight_source.cpp
# target: test_runtime
# test: weights are read through a reader*
s/(owner->read_file() == nullptr || !owner->read_file()->is_host_memory())/true/
