# Rows are read in each pass, however short they are.
# file: targets/ptx/loop/class.cpp
# target: test_ptx
# test: rows that fit the registers of their threads are read once
s/if (kept > 0) add_kept(variant, kept);//
