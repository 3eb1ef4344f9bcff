#include "targets/cpu/tile/main_loop.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "targets/cpu/tile/group_instructions.hpp"
#include "targets/cpu/tile/matrix_loop.hpp"
#include "targets/cpu/tile/tile_loop.hpp"
#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/jit/listing.hpp"

namespace dyn::cpu {
namespace {

class MainLoopEmitter {
 public:
  MainLoopEmitter(llvm::Module& module, const std::string& symbol, const codegen::Isa& isa,
                  const Tile& tile, const Factors& factors)
      : builder_(module.getContext()),
        isa_(isa),
        tile_(tile),
        factors_(factors),
        function_(create_main_loop(builder_, module, symbol)) {
    if (by_matrices(isa, factors))
      allow_matrices(*function_, isa);
    else
      allow_group(*function_, isa, factors.group);
  }

  void emit() {
    builder_.SetInsertPoint(block("entry"));
    if (by_matrices(isa_, factors_)) {
      emit_matrix_loop(builder_, *amx_code(builder_, factors_.group), isa_, tile_);
      builder_.CreateRetVoid();
      return;
    }
    if (asks_for_rows(isa_, tile_, factors_)) {
      // A loop of its own: elsewhere the asking would take the place of other loads.
      llvm::BasicBlock* asks = block("asks_for_rows");
      llvm::BasicBlock* plain = block("plain");
      builder_.CreateCondBr(
          builder_.CreateICmpNE(argument(rows_ahead_argument), builder_.getInt64(0)), asks, plain);
      builder_.SetInsertPoint(asks);
      emit_tile(argument(rows_ahead_argument));
      builder_.SetInsertPoint(plain);
    }
    emit_tile(nullptr);
  }

 private:
  using Values = TileLoop::Values;

  llvm::Argument* argument(unsigned index) { return function_->getArg(index); }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(builder_.getContext(), name, function_);
  }

  void emit_tile(llvm::Value* rows_ahead) {
    TileLoop loop(builder_, isa_, tile_,
                  {argument(a_row_argument), argument(b_k_argument), argument(panel_argument)},
                  factors_);
    const Values sums =
        loop.emit({argument(a_argument)}, argument(b_argument), argument(k_argument),
                  {argument(ahead_argument), argument(ahead_step_argument), rows_ahead},
                  initial_accumulators(loop));
    std::size_t next = 0;
    for (llvm::Value* address : tile_addresses(loop))
      builder_.CreateAlignedStore(sums[next++], address, llvm::Align(4));
    builder_.CreateRetVoid();
  }

  // The address of each vector of the tile, in the order of the accumulators.
  Values tile_addresses(const TileLoop& loop) {
    Values addresses;
    llvm::Value* row = argument(c_argument);
    for (int i = 0; i < loop.rows(); ++i) {
      for (int vector = 0; vector < loop.vectors(); ++vector) {
        addresses.push_back(builder_.CreateConstGEP1_64(
            builder_.getFloatTy(), row, static_cast<std::uint64_t>(vector * isa_.f32_lanes)));
      }
      row = builder_.CreateGEP(builder_.getFloatTy(), row, argument(c_row_argument));
    }
    return addresses;
  }

  // Zeros, or the tile as an earlier block of K left it: masked, not branched, as the merge of two
  // register files of accumulators would go through the stack.
  Values initial_accumulators(const TileLoop& loop) {
    auto* bits = llvm::VectorType::getInteger(loop.vector());
    llvm::Value* keep = builder_.CreateICmpNE(argument(accumulate_argument), builder_.getInt64(0));
    llvm::Value* mask = builder_.CreateVectorSplat(
        static_cast<unsigned>(isa_.f32_lanes), builder_.CreateSExt(keep, builder_.getInt32Ty()));
    Values accumulators;
    for (llvm::Value* address : tile_addresses(loop)) {
      llvm::Value* tile = builder_.CreateAlignedLoad(bits, address, llvm::Align(4));
      accumulators.push_back(builder_.CreateBitCast(builder_.CreateAnd(tile, mask), loop.vector()));
    }
    return accumulators;
  }

  codegen::Builder builder_;
  const codegen::Isa& isa_;
  Tile tile_;
  Factors factors_;
  llvm::Function* function_;
};

}  // namespace

MainLoopTable main_loop_table(std::vector<Tile> tiles, std::span<void* const> addresses) {
  MainLoopTable table{std::move(tiles), {}};
  for (void* address : addresses) table.functions.push_back(reinterpret_cast<MainLoop>(address));
  return table;
}

std::vector<Tile> main_loop_tiles(const codegen::Isa& isa) {
  std::vector<Tile> tiles;
  std::vector<int> widths{isa.f32_lanes};
  for (int columns = isa.panel_f32; columns <= 4 * isa.panel_f32; columns *= 2)
    widths.push_back(columns);
  for (const int columns : widths) {
    // A tile of one vector takes the place of one of a panel where no more columns exist: it has as
    // many rows.
    const int vectors = columns / isa.f32_lanes,
              counted = std::max(columns, isa.panel_f32) / isa.f32_lanes;
    for (int rows = 1;; ++rows) {
      // Accumulators, the broadcast, and B's vectors; a single row uses each vector of B once,
      // straight from memory. Without fused multiply-add each vector's product needs a register as
      // well.
      const int registers =
          rows * counted + 1 + (rows > 1 ? counted : 0) + (isa.fma ? 0 : 2 * counted);
      if (registers > isa.vector_registers) break;
      // Between its two loops LLVM permutes the accumulators of wide tiles through the stack where
      // they fill three quarters of the registers (6 x 64 on AVX-512); narrower tiles cover the
      // same rows as fast.
      if (vectors > 2 && 4 * rows * vectors >= 3 * isa.vector_registers) break;
      tiles.push_back({rows, columns});
    }
  }
  return tiles;
}

Tile largest_panel_tile(const codegen::Isa& isa) {
  return std::ranges::max(main_loop_tiles(isa), {}, [&](const Tile& tile) {
    return tile.columns == isa.panel_f32 ? tile.rows : 0;
  });
}

bool asks_for_rows(const codegen::Isa& isa, const Tile& tile, const Factors& factors) {
  return factors == Factors() && tile.columns == isa.panel_f32 &&
         2 * tile.rows > largest_panel_tile(isa).rows;
}

rkernel::Layer register_layer(const Tile& tile, const rkernel::Contraction& contraction,
                              int k_tile) {
  using rkernel::LoopKind;
  return {"registers",
          {{contraction.k, LoopKind::TemporalReduction, k_tile},
           {contraction.m, LoopKind::TemporalSpatial, tile.rows},
           {contraction.n, LoopKind::TemporalSpatial, tile.columns}},
          {},
          rkernel::Analysis::Empirical,
          1};
}

Tile tile_of(const rkernel::Layer& registers) {
  return {static_cast<int>(registers.loops.at(1).tile),
          static_cast<int>(registers.loops.at(2).tile)};
}

codegen::KernelSource main_loop_source(const codegen::Isa& isa, const rkernel::Layer& registers,
                                       const Factors& factors) {
  const Tile tile = tile_of(registers);
  return {fmt::format("main loop {}{} {}x{}", factors.name(),
                      by_matrices(isa, factors) ? " by matrices" : "", tile.rows, tile.columns),
          [&isa, tile, factors](llvm::Module& module, const std::string& symbol) {
            MainLoopEmitter(module, symbol, isa, tile, factors).emit();
          }};
}

std::vector<codegen::KernelSource> main_loop_sources(const codegen::Isa& isa,
                                                     const Factors& factors) {
  const rkernel::Contraction contraction{.a = 0, .b = 1, .m = 0, .n = 1, .k = 2};
  std::vector<codegen::KernelSource> sources;
  for (const Tile& tile : main_loop_tiles(isa))
    sources.push_back(main_loop_source(isa, register_layer(tile, contraction), factors));
  return sources;
}

std::optional<rkernel::CodeListing> list_main_loop(const codegen::Isa& isa, const Tile& tile,
                                                   const Factors& factors) {
  const std::vector<Tile> tiles = main_loop_tiles(isa);
  const auto found = std::ranges::find(tiles, tile);
  if (found == tiles.end()) return std::nullopt;
  return codegen::list_code(
      isa, main_loop_sources(isa, factors)[static_cast<std::size_t>(found - tiles.begin())]);
}

}  // namespace dyn::cpu
