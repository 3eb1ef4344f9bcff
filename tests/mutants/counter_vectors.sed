# The arithmetic of a vector is counted as one instruction.
# file: targets/ptx/emulator/counters/survey.cpp
# target: test_ptx
# test: counters: a vector's arithmetic is counted by element*
s/counted.instructions \*= static_cast<int>(vector->getNumElements());//
