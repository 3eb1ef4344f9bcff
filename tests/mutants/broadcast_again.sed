# What dims were broadcast from is forgotten, so that one that takes part again and again grows.
# file: graph/shapes/propagate_rules.cpp
# target: test_graph
# test: dims that are broadcast again stay as they are*
s/broadcasts_\.insert_or_assign(.*;/static_cast<void>(0);/
