# Parts of one ticket in two tiles lie in one place.
# file: targets/ptx/contraction/fix_up.cpp
# target: test_ptx
# test: tiles that blocks share*
s|CreateAdd(ticket, parts.tile)|CreateAdd(ticket, ticket)|
