# Under a causal mask blocks of keys end one key early.
# file: targets/cpu/attention/ticket.cpp
# target: test_cpu
# test: attention of all sizes*
s/end_key = code.minimum(end_key, seen_by(function, sizes, end_row));/end_key = code.minimum(end_key, seen_by(function, sizes, builder.CreateSub(end_row, code.number(1))));/
