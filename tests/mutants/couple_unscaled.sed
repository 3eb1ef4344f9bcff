# The sum of coupled probabilities grows.
# file: targets/host/couple.cpp
# target: test_import
# test: probabilities of pairs*
s/      p\[j\] \/= sum;/      p[j] *= 1;/
