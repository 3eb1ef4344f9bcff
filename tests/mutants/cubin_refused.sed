# A cubin from disk that the driver refuses ends the load.
# file: targets/ptx/cuda/modules.cpp
# target: test_ptx
# test: cuda cubins: one that the driver refuses*
s/if (context_->lost()) throw;/throw;/
