# A plan whose launches all run on one thread calls the helpers that the plan it was made from needed.
# file: src/runtime/plan/plan.cpp
# target: test_runtime
# test: candidates: a plan with other launches*
/^  changed->threads = 1;/d
