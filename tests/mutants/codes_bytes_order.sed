# Codes of a file lie in words as without groups.
# file: targets/cpu/move/pack.cpp
# target: test_kernels
# test: codes of a file are multiplied as they lie*
s/if (group == rkernel::Group::None || bits_/if (group <= rkernel::Group::Bfloats || bits_/
