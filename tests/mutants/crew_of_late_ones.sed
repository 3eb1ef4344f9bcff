# A thread of the host's that comes late works all the same.
# file: src/base/crew.cpp
# target: test_runtime
# test: a crew: who comes late*
s/if (closed || /if (/
