# Forgotten positions are zeroed on the host alone.
# file: src/runtime/session/session_memory.cpp
# target: test_runtime
# test: truncated and reset sessions on the emulator*
s/if (states_\[i\].device.begin == 0) continue;/if (states_[i].device.begin != 0) continue;/
