# A region of a program begins at the first column of the output, wherever it lies.
# file: targets/cpu/contraction/ticket.cpp
# target: test_cpu
# test: programs of every pattern with random cuts and strategies equal plain loops
s/builder\.CreateAdd(part\.start, code\.region_slot(region, strategy\.first_panel))/part.start/
