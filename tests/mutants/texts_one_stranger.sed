# All texts that are in no list are one.
# file: src/runtime/run/text_coder.cpp
# target: test_runtime
# test: texts become places*
s/-1 - static_cast<std::int64_t>(strangers.size())/-1/
