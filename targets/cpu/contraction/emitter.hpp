#pragma once
// The kernel of a contraction around its main loops: tickets, blocks, moves into scratch, epilogue;
// as IR.

#include <string>
#include <vector>

#include "src/rkernel/tree/layer.hpp"
#include "targets/cpu/contraction/classes.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::cpu {

/// Slots that tell how the rows of one block are cut (rkernel::Tiling).
struct RowSlots {
  int first_rows, first_tiles;  ///< the first run: rows of a tile, and how many
  int second_rows;              ///< rows of the other tiles
  int tiles;                    ///< tiles of both runs
};

/// Slots that tell how dots compute a group of columns (rkernel::RestGroup).
struct RestSlots {
  int columns, rows;  ///< rows of a tile at most
  int table;          ///< address of the dot loops by rows
};

/// Slots of KernelArgs::ints that the program fills, behind those of the two factors.
struct StrategySlots {
  int regions;            ///< at least 1
  int regions_begin;      ///< the slot where those of the first region begin
  int slices;             ///< of K, for the second stage
  int sums_row;           ///< elements between rows of a slice's sums in KernelArgs::shared:
                          ///< [slice][batch][m][sums_row]
  int merge_rows;         ///< rows of one ticket of the second stage
  int a_move;             ///< address of the function that copies A's rows: a Move, or, where they
                          ///< are windows, what window_copy_source() gives, or, where they are
                          ///< computed, as B's panels may be, what computed_factor_source() gives
  int image_work;         ///< address of what image_work_source() gives; 0: none
  int b_move, rest_move;  ///< addresses of Moves: of B's panels, or its rows where all lanes run
                          ///< along K; of the rest of its columns
  int epilogue;  ///< address of the function that follows a tile's sums (epilogue_source())
  int full_panel, full_vector;  ///< addresses of the functions of full tiles of a panel and of a
                                ///< vector (full_tiles_source()); 0: none
  int full_rows;                ///< rows of these
  int first_of_region;  ///< no slot, but what regions_begin holds: they lie behind all others
  int slots_of_region;  ///< no slot, but how many a region has. Those below count from its first
  int first_ticket;     ///< the region's; tickets of regions follow each other
  int m_begin, m_size;  ///< its rows
  int first_panel, panels;     ///< its columns
  int k_slices;                ///< at least 1; more only in a program of one region
  int m_blocks, n_blocks;      ///< blocks along m and n, as equal as they can be; n in panels
  int tile_rows, tile_panels;  ///< the main loops' tile: rows at most, panels
  RowSlots larger,
      smaller;       ///< blocks along m with the one more row that does not divide, and the others
  int block_k;       ///< depth of one block of K; the last of a slice may be shorter
  int k_blocks;      ///< blocks of one slice; at least 1
  int copy_a;        ///< 0 or 1
  int ask_ahead;     ///< 0 or 1: row tiles ask for the columns that come next, each for its share
  int direct_b;      ///< 0 or 1: B's whole panels are read as they lie
  int wide_table;    ///< address of the main loops by rows, for tile_panels panels
  int narrow_table;  ///< the same for one panel
  int half_table;    ///< the same for one vector: the last panel where no more of it exists
  int sides_table;   ///< the same for a panel of each of several right sides; 0: each has a loop
  int a_row;         ///< elements between rows of A's copy
  int a_scratch, b_scratch;  ///< byte offsets in scratch; tiles lie at 0
  int reads_strip;           ///< 0 or 1: full tiles read A's windows in a strip (Strip)
  int strip_scratch,
      offsets_scratch;  ///< byte offsets of it, and of where each row's window begins there
  int turned_scratch;   ///< the same, of a tile whose rows are lanes; only with sides exchanged
  int rest_columns;  ///< columns of the last panel whose lanes run along K; 0: the region has none
  int rest_place, rest_row;  ///< B's, as rows: byte offset in scratch, or of packed B, and elements
                             ///< from one to the next
  RestSlots rest_first, rest_second;  ///< their groups
};

/// A contraction's factors are its first operands.
inline constexpr std::size_t factor_count = 2;

/// The slots of a contraction, and those of its strategy among and behind them.
struct ContractionSlots {
  explicit ContractionSlots(const rkernel::Problem& problem);
  codegen::SlotTable table;
  StrategySlots strategy;
};

/// The problem without what follows the sums: all that the code of its tickets knows.
rkernel::Problem factors_only(rkernel::Problem problem);

/// Layers of a contraction's rKernel on a CPU, above the registers (0) and L1 (1).
inline constexpr int l2_layer = 2, threads_layer = 3;
rkernel::RKernel contraction_rkernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                                     int threads, bool dot);

/// The tickets of problems with these factors (factors_only()) and this class, by a walk over their
/// rKernel. What follows the sums is behind StrategySlots::epilogue.
codegen::KernelSource contraction_source(const rkernel::Problem& factors, const codegen::Isa& isa,
                                         const ContractionClass& shape_class);

/// The second stage of a split K: tickets are blocks of rows of all of the batch. Lanes run along
/// n.
codegen::KernelSource contraction_merge_source(const rkernel::Problem& factors,
                                               const codegen::Isa& isa);

}  // namespace dyn::cpu
