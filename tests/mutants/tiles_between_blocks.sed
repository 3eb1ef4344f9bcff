# Scratch has room for as many tiles as the largest block has, which may be fewer than a block with one panel less has.
# file: targets/cpu/contraction/launch.cpp
# target: test_cpu
# test: tiles keep apart between blocks of K*
s/std::min(blocks\.block_panels, blocks\.block_panels \/ blocks\.tile_panels + blocks\.tile_panels - 1)/blocks.block_panels \/ blocks.tile_panels + blocks.block_panels % blocks.tile_panels/
