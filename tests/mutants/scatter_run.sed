# Rows whose last index alone differs are taken for rows of one index.
# file: targets/host/scatter.cpp
# target: test_runtime
# test: scatter_elements adds rows of one index*
s/static_cast<std::size_t>(length - 1) \* sizeof(Index)/static_cast<std::size_t>(length - 2) * sizeof(Index)/
