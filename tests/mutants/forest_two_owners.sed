# A node may belong to two trees, of which one walks on in the other'\''s place.
# file: targets/host/forest.cpp
# target: test_runtime
# test: trees that are not*
s/if (is_placed \&\& owners\[at\] != tree) return false;/if (is_placed) owners[at] = tree;/
