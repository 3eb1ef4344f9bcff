# Every element-wise operator before a product becomes a part of it, whatever it costs.
# file: targets/ptx/programs/prologue_worth.cpp
# target: test_kernels
# test: factors stay in memory on a GPU where a block would wait for many loads
s/return sum < std::log(worth) \*/return sum < 1e30 */
s/most < std::log(tolerated);/most < 1e30;/
