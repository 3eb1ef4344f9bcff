# Parts of the keys that no row sees under a causal mask are waited for.
# file: targets/ptx/attention/emitter.cpp
# target: test_ptx
# test: attention on the emulator: blocks with parts*
s|steps_of(rows), int32(1)|steps_of({.seen_by_any = rows.keys}), int32(1)|
