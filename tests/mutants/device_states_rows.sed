# Of a state that crosses between host and device, only the first head's new positions arrive.
# file: src/runtime/session/state_memory.hpp
# target: test_runtime
# test: a state that a group on the host reads beside groups on the emulator
s/offset += strips.stride/offset += strips.bytes/
