# A member that an older plug-in does not have is read.
# file: src/c/plugins.cpp
# target: test_runtime
# test: C: operators of a program that is older than definitions
s/return from.struct_size >= sizeof(dyn_plugin_operator) && /return /
