# A reader that gives fewer bytes than it was asked for is believed.
# file: src/base/host_file.cpp
# target: test_import
# test: a reader that lies about sizes*
s/if (got != part\.size())/if (got > part.size() + 8)/
