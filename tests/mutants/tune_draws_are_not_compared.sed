# The last region that has a candidate gets every point, whatever the others promise.
# file: src/tune/bayes.cpp
# target: test_cli
# test: tune: bayes and evolution*
s/if (draw >= least || /if (draw == least || /
