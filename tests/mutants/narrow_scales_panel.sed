# The scales of i8 weights are written to the first panel's place.
# file: targets/cpu/move/pack.cpp
# target: test_cpu
# test: contractions with narrow weights equal plain loops*
s/scales_offset_bytes()) + i \* width/scales_offset_bytes()) + first_panel * width/
