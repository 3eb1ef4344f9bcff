# The model's description and its graph's are exchanged.
# file: src/python/dyn/model_metadata.py
# test: test_metadata_of_a_model
s/own.description, own.graph_description/own.graph_description, own.description/
