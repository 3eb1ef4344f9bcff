# Outer axes may have any strides.
# file: src/python/bindings/arrays/strided.cpp
# test: test_strides_of_three_dims
s/if (!dense) continue;/if (i == 0) dense = true;/
