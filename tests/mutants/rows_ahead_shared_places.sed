# Tiles ask for rows of A that push each other out of L1.
# file: targets/cpu/tile/tile_loop.cpp
# target: test_cpu
# test: a tile asks for the rows of the next one*
s/return builder\.CreateSelect(fit, ahead, /return builder.CreateSelect(builder.getTrue(), ahead, /
