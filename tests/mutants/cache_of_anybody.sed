# A cache directory, and files in it, are used whoever owns them and may write to them.
# file: src/base/cache_directory.cpp
# target: test_graph
# test: a directory that others may write to is refused*
s/return info.st_uid == ::geteuid() && !others_may_write(info);/return true || others_may_write(info);/
