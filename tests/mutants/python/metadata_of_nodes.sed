# Metadata is looked for in the wrong field.
# file: src/python/dyn/onnx_metadata.py
# test: test_metadata_of_a_model
s/elif number == 14:/elif number == 15:/
