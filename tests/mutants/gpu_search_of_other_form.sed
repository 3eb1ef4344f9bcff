# Contractions share a search though their tiles meet them in other forms.
# file: targets/ptx/programs/tile_searches.cpp
# target: test_ptx
# test: contractions that tiles meet in one form*
s/known\.first == first && known\.last == last && //
