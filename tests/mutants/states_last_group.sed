# A group of states that is not full is left out.
# file: targets/cpu/recurrence/products.cpp
# target: test_kernels
# test: recurrent layers by weights of i8? whose states are quantised
s/k_(code_.ceil_div(function.extent(function.recurrence.k),/k_(builder_.CreateUDiv(function.extent(function.recurrence.k), code_.number(/; s/rkernel::elements_of(panels.factors.group))),/rkernel::elements_of(panels.factors.group)))),/
