# The second direction of a recurrent layer begins at the end of the longest row, whatever the row's length.
# file: targets/host/recurrence.cpp
# target: test_import
# test: imported recurrent layers
s/const std::int64_t t = reverse_ ? length - 1 - i : i;/const std::int64_t t = reverse_ ? steps_ - 1 - i : i;/
