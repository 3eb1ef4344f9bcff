# Passes that read kept rows take the first part of them for all parts.
# file: targets/ptx/loop/row_passes.cpp
# target: test_ptx
# test: rows around the longest that threads keep
s/kept_body(pass, kept_\[part\], sums)/kept_body(pass, pass.loaded.empty() ? kept_[part] : kept_[0], sums)/
