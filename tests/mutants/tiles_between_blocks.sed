# Scratch has room for as many tiles as the largest block has, which may be fewer than a block with one panel less has.
# file: targets/cpu/contraction/launch.cpp
# target: test_cpu
# test: tiles keep apart between blocks of K*
/^  blocks.column_tiles = std::min(blocks.block_panels,/,/;$/c\  blocks.column_tiles = blocks.block_panels / blocks.tile_panels + blocks.block_panels % blocks.tile_panels;
