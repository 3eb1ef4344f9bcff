# Pieces of a run that may be ended stay as large as the prediction said, however long they take.
# file: src/runtime/run/pieces.cpp
# target: test_runtime
# test: pieces that take too long become smaller*
s/piece = std::max<std::int64_t>(piece \/ 2, 1);/{}/
