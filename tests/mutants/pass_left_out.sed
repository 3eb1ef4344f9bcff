# The first simplification does nothing; the second one hides it from results.
# file: graph/passes/pipeline.cpp
# target: test_graph
# test: each pass is seen once*
/"simplify"/,/simplify(module)/s/{ simplify(module); }/{}/
