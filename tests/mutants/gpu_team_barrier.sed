# Threads of a smaller tile wait at the barrier of the whole block, to which the others never come.
# file: targets/ptx/contraction/team_of_threads.cpp
# target: test_ptx
# test: tiles of unequal threads compute*
s/if (op != nullptr \&\& op->op == Op::Barrier) barriers\.push_back(called);/static_cast<void>(op);/
