#pragma once
// Main loops whose lanes run along K, for outputs of few columns: both sides are read as contiguous
// rows, each element once for a tile.

#include <optional>
#include <vector>

#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"

namespace dyn::cpu {

/// The most columns that dot loops have tiles for.
int most_dot_columns(const codegen::Isa& isa);

/// All tiles that the registers hold: for each number of columns, rows from 1.
std::vector<Tile> dot_tiles(const codegen::Isa& isa);

/// A MainLoop with B(k, j) = b[j * panel_stride + k]; b_k_stride is not looked at. Each output has
/// as many partial sums as a vector has lanes, lane i those of k = i (mod lanes) in order;
/// neighbours are added, then neighbours of the results, until one is left. Neither the tile nor
/// the number of rows changes a bit; blocks of K do where their depth is no multiple of the lanes.
codegen::KernelSource dot_loop_source(const codegen::Isa& isa, const Tile& tile);
std::vector<codegen::KernelSource> dot_loop_sources(const codegen::Isa& isa);

/// As list_main_loop().
std::optional<rkernel::CodeListing> list_dot_loop(const codegen::Isa& isa, const Tile& tile);

}  // namespace dyn::cpu
