# A load goes on although the host has ended it.
# file: src/base/load_progress.cpp
# target: test_runtime
# test: a load is ended wherever*
s/if (listener == nullptr || (\*listener)(progress)) return;/if (listener != nullptr) (*listener)(progress); return;/
