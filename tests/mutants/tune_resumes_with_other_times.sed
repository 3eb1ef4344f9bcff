# A resumed search is told other times than the ones that were measured.
# file: src/tune/session.cpp
# target: test_cli
# test: tune: a search that was stopped*
s/answer(next\.value);/answer(1 \/ next.value);/
