#pragma once
// Main loops: the layer-0 kernels of contractions. They belong to the machine; all models share
// them.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/rkernel/problem/factors.hpp"
#include "src/rkernel/tree/layer.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"

namespace dyn::cpu {

/// c[r * c_row_stride + j] = (accumulate ? c[...] : 0) + sum over k of a[r * a_row_stride + k] *
/// B(k, j), f32, K in order with one accumulator for each element. B(k, j) = b[(j / P) *
/// panel_stride + k * b_k_stride + j % P], P the ISA's panel width: packed panels have b_k_stride =
/// P, rows as they lie have panel_stride = P. Strides in elements. Whole vectors of B are read, up
/// to the tile's columns. B is f32, or packed weights of f16, bf16 or i8 that become f32 (exactly)
/// before they are multiplied. `ahead`: how far beyond B, in elements, lines are asked for, and by
/// how much the place moves in 4 steps of K; 0: as far as hides the latency of memory, with B.
/// `rows_ahead`: how far beyond their place rows of A are asked for by a tile that asks_for_rows().
/// Tiles of several panels know 0 only. With lanes along K it is A that is asked for,
/// dot_rows_ahead() beyond its place; 0: not at all. Of groups (Factors) an element of A or B is
/// one group, K counts groups, and C has their sums, which may be i32. Codes (Factors::coding)
/// begin with a block, panel_stride has room for whole ones, and b_k_stride is not read; one row
/// adds up block by block before it multiplies by the scales, several rows step by step.
using MainLoop = void (*)(const float* a, std::int64_t a_row_stride, const void* b,
                          std::int64_t b_k_stride, std::int64_t panel_stride, std::int64_t k,
                          float* c, std::int64_t c_row_stride, std::int64_t accumulate,
                          std::int64_t ahead, std::int64_t ahead_step, std::int64_t rows_ahead);

/// A layer-0 tile: rows x columns of the output in registers.
struct Tile {
  int rows = 0, columns = 0;
  bool operator==(const Tile&) const = default;
};

/// Main loops with their addresses.
struct MainLoopTable {
  std::vector<Tile> tiles;
  std::vector<MainLoop> functions;  ///< parallel to tiles
};
/// `addresses`: of the functions of these tiles, in their order; kernels with lanes along K have
/// the same type.
MainLoopTable main_loop_table(std::vector<Tile> tiles, std::span<void* const> addresses);

/// All tiles that the ISA's registers hold: columns are one vector, or j panels, j a power of two.
std::vector<Tile> main_loop_tiles(const codegen::Isa& isa);
/// The tile of one panel with the most rows.
Tile largest_panel_tile(const codegen::Isa& isa);

/// True if the main loop of a tile reads `rows_ahead`: tall ones of a panel, of f32 operands.
bool asks_for_rows(const codegen::Isa& isa, const Tile& tile, const rkernel::Factors& factors);

/// The layer 0 of an rKernel for a contraction whose tile this is, and back: the tile that such a
/// layer describes.
rkernel::Layer register_layer(const Tile& tile, const rkernel::Contraction& contraction,
                              int k_tile = 1);
Tile tile_of(const rkernel::Layer& registers);

/// The source of the main loop that a register layer describes.
codegen::KernelSource main_loop_source(const codegen::Isa& isa, const rkernel::Layer& registers,
                                       const rkernel::Factors& factors = {});

/// The sources for all tiles of an ISA, in the order of main_loop_tiles().
std::vector<codegen::KernelSource> main_loop_sources(const codegen::Isa& isa,
                                                     const rkernel::Factors& factors = {});

/// Assembly of a tile's main loop, for people; nothing where the ISA has no such tile.
std::optional<rkernel::CodeListing> list_main_loop(const codegen::Isa& isa, const Tile& tile,
                                                   const rkernel::Factors& factors = {});

}  // namespace dyn::cpu
