# The fit takes the program that the model predicts to be slowest.
# file: src/fit/regret.cpp
# target: test_cpu
# test: choices of the model that the measurements follow*
s/seconds >= least) continue/seconds <= least) continue/
