# A model names files outside of its folder for its reader.
# file: src/base/host_file.cpp
# target: test_import
# test: names that lead out of a model*
s/ || first == "\.\."//
