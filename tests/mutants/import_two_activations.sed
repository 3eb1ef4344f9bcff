# Both directions of a recurrent layer have the first one's activations.
# file: src/import/onnx/ops/recurrence.cpp
# target: test_import
# test: directions of a recurrent layer have activations of their own
s/activations\[static_cast<std::size_t>(d)\], attrs/activations[0], attrs/
