# A provider that nobody knows is passed over.
# file: src/python/dyn/inference_session.py
# test: test_what_it_does_not_understand
s/^            raise UnsupportedError(f"there is no provider.*/            continue/
