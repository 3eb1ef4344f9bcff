# Programs that run the same code on the same parts stand among the choices more than once.
# file: targets/cpu/contraction/generated_programs.cpp
# target: test_cpu
# test: choices of every policy are distinct*
s/const Choice choice = canonical(forms_\.context()\.isa(), shape, considered);/const Choice choice = considered;/
