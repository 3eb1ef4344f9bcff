# A name in a page's data may end its element.
# file: src/cli/page/page.cpp
# target: test_cli
# test: names of a page end no element and begin none
s/with_replaced(data_text(data), '<', "\\\\u003c")/data_text(data)/
