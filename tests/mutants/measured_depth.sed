# Tiles are measured over whole panels, which L1 may not hold.
# file: targets/cpu/measure/measure.cpp
# target: test_cpu
# test: tiles are measured with operands that L1 holds*
s/constexpr std::int64_t same_row = 0;/const std::int64_t same_row = isa.panel_f32;/
