# On a GPU the windows of a row of the image are counted as those of a column.
# file: targets/ptx/copies/window_copy.cpp
# target: test_ptx
# test: windows: products on CUDA cores*
/WindowCopy::parts_of_row/,/^}/s/rest, count/rest, low_word(builder, values_.axes[i].size)/
