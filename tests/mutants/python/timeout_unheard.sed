# A timeout has no effect.
# file: src/python/bindings/host/control.cpp
# test: test_a_session_keeps_its_length
s/if (!timeout.is_none()) options.deadline/if (false) options.deadline/
