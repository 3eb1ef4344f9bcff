# A tuning file of another version of dyn is loaded.
# file: src/runtime/tuning/tuning_file.cpp
# target: test_runtime
# test: tuning file: a load refuses*
s/if (file\.version != tuning_version())/if (false)/
