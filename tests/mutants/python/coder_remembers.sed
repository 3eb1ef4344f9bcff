# A run's coder still knows the strangers of the run before.
# file: src/python/bindings/run.cpp
# test: test_runs_forget_texts
s/  coder_->forget();//
