# Tiles that are called ask for rows of A that push each other out of L1.
# file: targets/cpu/tile/tile_loop.cpp
# target: test_cpu
# test: a tile that is called asks for no rows that share places of a cache
s/return builder\.CreateSelect(fit, rows_ahead/return builder.CreateSelect(builder.getTrue(), rows_ahead/
