# The reference's mod keeps the dividend's sign.
# file: graph/ops/scalar_values.cpp
# target: test_codegen
# test: binary operators
s/(rest < 0) != (b < 0) ? rest + b : rest/false ? rest + b : rest/
