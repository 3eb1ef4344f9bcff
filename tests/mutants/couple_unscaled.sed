# The sum of coupled probabilities grows.
# file: targets/host/couple.cpp
# target: test_import
# test: probabilities of pairs*
s/      p\[j\] \*= scale;/      p[j] *= 1;/
