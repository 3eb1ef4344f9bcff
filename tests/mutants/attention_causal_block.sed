# Under a causal mask blocks of keys end one key early.
# file: targets/cpu/attention/emitter.cpp
# target: test_cpu
# test: attention of all sizes*
s/end_key_ = code_.minimum(end_key_, seen_by(builder_.CreateAdd(block_.start, block_.size)))/end_key_ = code_.minimum(end_key_, seen_by(builder_.CreateSub(builder_.CreateAdd(block_.start, block_.size), number(1))))/
