# Bounds of named dims in descriptions are those of any dim.
# file: graph/dims/dim_info.cpp
# target: test_runtime
# test: dims that a text declares*
s/const Interval values = bounds(dim);/const Interval values = bounds(dim.symbol() ? dim.table().symbol({}) : dim);/
