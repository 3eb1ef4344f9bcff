# The last of a thread'\''s rows is left out.
# file: targets/host/kernel.cpp
# target: test_runtime
# test: threads share the rows*
s/count = std::min(planned.rows - first, planned.ticket_rows);/count = std::min(planned.rows - first, planned.ticket_rows - 1);/
