# Nobody hears that lent threads have not come.
# file: src/base/crew.cpp
# target: test_runtime
# test: a crew: who comes late*
s/    attendance->is_full_ = false;/    {}/
