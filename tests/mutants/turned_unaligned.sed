# Vectors across the lanes are taken where they are not aligned.
# file: targets/ptx/loop/turn.cpp
# target: test_ptx
# test: squares are turned in registers*
s/if (value(slots.offset(operand)) % side != 0) return false;//
