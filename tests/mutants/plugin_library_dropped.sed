# Functions of a plug-in do not keep its library.
# file: src/c/plugins.cpp
# target: test_runtime
# test: operators of a plug-in run at two sizes? and keep their library
s/return \[library, place,/return [place,/
