# A plug-in of a newer major version is taken.
# file: src/c/plugins.cpp
# target: test_runtime
# test: files that are no plug-ins are refused by name
s/plugin.version >> 16 != DYN_PLUGIN_MAJOR/plugin.version == 0/
