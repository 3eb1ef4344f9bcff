# Chunks of 16 bytes are copied where channels are no multiple of them.
# file: targets/ptx/copies/vector_copies.cpp
# target: test_ptx
# test: convolutions on the emulator*
s/ : is_whole(window.channels))/ : true)/
