# The emulator's tensor cores round what they should cut.
# file: targets/ptx/emulator/multiprocessor/lanes.cpp
# target: test_ptx
# test: emulator: small kernels have the bits of a GPU
s/std::nextafter(rounded, 0.0f) : rounded/rounded : rounded/
