# A text that is in no list is taken for the first of it.
# file: src/import/onnx/texts/text_lookup.cpp
# target: test_import
# test: an input of texts is looked up*
s/where(less(places, 0.0), beyond, minimum(places, beyond))/maximum(minimum(places, beyond), 0.0)/
