# A state crosses between host and device as if it had one block of positions.
# file: src/runtime/session/state_memory.hpp
# target: test_runtime
# test: a state that a group on the host reads beside groups on the emulator
s/offset += strips.stride/offset += strips.bytes/
