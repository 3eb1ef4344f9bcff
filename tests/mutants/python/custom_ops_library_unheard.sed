# A session loads no registered library.
# file: src/python/dyn/session_options.py
# test: test_nodes_of_an_onnx_file
s/        if plugins:/        if False:/
