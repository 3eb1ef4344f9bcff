# Threads that pass over a region fill the stages of the next one while it is computed.
# file: targets/ptx/contraction/emitter.cpp
# target: test_ptx
# test: tiles of unequal threads compute*
s/if (i > 0 \&\& threads_of\[i - 1\] < threads_of\[i\]) call(builder, Op::Barrier);//
