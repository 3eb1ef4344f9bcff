# Device code rounds vectors to integers by an intrinsic that no GPU has.
# file: targets/ptx/ir/device_math.hpp
# target: test_kernels
# test: dtypes on a GPU
s|.lrint = false|.lrint = true|
