#include "targets/cpu/main_loop.hpp"

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "targets/cpu/functions.hpp"

namespace dyn::cpu {
namespace {

// Steps of K in one iteration: 4 hides the loop's overhead (97 % of the peak against 74 % for 1); 8 loses to decoding.
constexpr int k_unroll = 4;
// Rows that share a base pointer: x86 addresses base + {1, 2} * index directly, and 3 * index is a second register.
constexpr int rows_per_base = 4;

// How far ahead B is asked for: the latency of memory in steps of K of a tile of a few rows.
constexpr int prefetch_bytes = 8192;
constexpr int line_bytes = 64;
// Beyond so many rows a tile of one vector gains nothing: its loads of A bound it, and its chains of multiply-adds are long enough. With
// more than half of the registers LLVM keeps broadcasts of several steps of K, and spills.
constexpr int most_rows_of_one_vector = 14;

class MainLoopEmitter {
 public:
  MainLoopEmitter(llvm::Module& module, const std::string& symbol, const Isa& isa, const Tile& tile)
      : builder_(module.getContext()),
        isa_(isa),
        rows_(tile.rows),
        columns_(tile.columns),
        vectors_(tile.columns / isa.f32_lanes),
        f32_(llvm::Type::getFloatTy(module.getContext())),
        i64_(llvm::Type::getInt64Ty(module.getContext())),
        vector_(llvm::FixedVectorType::get(f32_, static_cast<unsigned>(isa.f32_lanes))) {
    function_ = create_main_loop(builder_, module, symbol);
  }

  void emit() {
    auto* entry = block("entry");
    builder_.SetInsertPoint(entry);
    llvm::Value* row_bytes = builder_.CreateShl(argument(a_row_argument), 2);
    row_offsets_ = multiples(row_bytes);
    llvm::Value* step_bytes = builder_.CreateShl(argument(b_k_argument), 2);
    step_offsets_ = multiples(step_bytes);
    unrolled_bytes_ = builder_.CreateShl(step_bytes, 2);
    prefetch_distance_ = builder_.CreateMul(step_bytes, builder_.getInt64(prefetch_bytes / 4 / static_cast<unsigned>(isa_.panel_f32)));
    llvm::Value* group_bytes = builder_.CreateShl(row_bytes, 2);
    Values pointers;
    append_series(pointers, argument(a_argument), group_bytes, (rows_ + rows_per_base - 1) / rows_per_base);
    append_series(pointers, argument(b_argument), builder_.CreateShl(argument(panel_argument), 2), panel_count());
    emit_loops(pointers, initial_accumulators());
  }

 private:
  using Values = std::vector<llvm::Value*>;

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(builder_.getContext(), name, function_); }

  llvm::Argument* argument(unsigned index) { return function_->getArg(index); }
  int panel_count() const { return (columns_ + isa_.panel_f32 - 1) / isa_.panel_f32; }

  Values multiples(llvm::Value* bytes) {
    return {builder_.getInt64(0), bytes, builder_.CreateShl(bytes, 1), builder_.CreateMul(bytes, builder_.getInt64(3))};
  }
  llvm::Value* add_bytes(llvm::Value* pointer, llvm::Value* bytes) { return builder_.CreateGEP(builder_.getInt8Ty(), pointer, bytes); }

  void append_series(Values& pointers, llvm::Value* first, llvm::Value* step_bytes, int count) {
    for (int i = 0; i < count; ++i) {
      pointers.push_back(first);
      first = add_bytes(first, step_bytes);
    }
  }

  // Of each vector of the tile, in the order of the accumulators.
  Values tile_addresses() {
    Values addresses;
    llvm::Value* row = argument(c_argument);
    llvm::Value* row_bytes = builder_.CreateShl(argument(c_row_argument), 2);
    for (int i = 0; i < rows_; ++i) {
      for (int vector = 0; vector < vectors_; ++vector) addresses.push_back(advance(row, vector * isa_.f32_lanes));
      row = add_bytes(row, row_bytes);
    }
    return addresses;
  }

  // Zeros, or the tile as an earlier block of K left it: masked, not branched, as the merge of two register files of
  // accumulators would go through the stack.
  Values initial_accumulators() {
    auto* bits = llvm::VectorType::getInteger(vector_);
    llvm::Value* keep = builder_.CreateICmpNE(argument(accumulate_argument), builder_.getInt64(0));
    llvm::Value* mask = builder_.CreateVectorSplat(static_cast<unsigned>(isa_.f32_lanes), builder_.CreateSExt(keep, builder_.getInt32Ty()));
    Values accumulators;
    for (llvm::Value* address : tile_addresses()) {
      llvm::Value* tile = builder_.CreateAlignedLoad(bits, address, llvm::Align(4));
      accumulators.push_back(builder_.CreateBitCast(builder_.CreateAnd(tile, mask), vector_));
    }
    return accumulators;
  }

  void emit_loops(const Values& pointers, const Values& accumulators) {
    llvm::Value* k = argument(k_argument);
    llvm::Value* whole = builder_.CreateAnd(k, builder_.getInt64(~std::uint64_t{k_unroll - 1}));
    Values state = pointers;
    state.insert(state.end(), accumulators.begin(), accumulators.end());
    state = emit_loop(state, whole, k_unroll, "k4");
    state = emit_loop(state, builder_.CreateSub(k, whole), 1, "k1");
    std::size_t next = pointers.size();
    for (llvm::Value* address : tile_addresses()) builder_.CreateAlignedStore(state[next++], address, llvm::Align(4));
    builder_.CreateRetVoid();
  }

  // `count` steps of K, `unroll` at a time; state is the pointers of A's row groups and B's panels, then the accumulators.
  // The test stands in the header, so that the values after the loop are its phis: a second set of phis would make the
  // register allocator permute full register files through the stack.
  Values emit_loop(const Values& state, llvm::Value* count, int unroll, const char* name) {
    auto* before = builder_.GetInsertBlock();
    auto* header = block("header");
    auto* body = block(name);
    auto* after = block("after");
    builder_.CreateBr(header);
    builder_.SetInsertPoint(header);
    auto* remaining = builder_.CreatePHI(i64_, 2);
    remaining->addIncoming(count, before);
    std::vector<llvm::PHINode*> phis;
    for (llvm::Value* value : state) {
      phis.push_back(builder_.CreatePHI(value->getType(), 2));
      phis.back()->addIncoming(value, before);
    }
    Values current(phis.begin(), phis.end());
    builder_.CreateCondBr(builder_.CreateICmpSGT(remaining, builder_.getInt64(0)), body, after);
    builder_.SetInsertPoint(body);
    for (int step = 0; step < unroll; ++step) emit_step(current, step);
    if (unroll > 1 && rows_ > 1) prefetch_panels(current);
    for (std::size_t i = 0; i < row_groups(); ++i) current[i] = advance(current[i], unroll);
    llvm::Value* b_bytes = unroll == 1 ? step_offsets_[1] : unrolled_bytes_;
    for (std::size_t i = row_groups(); i < pointer_count(); ++i) current[i] = add_bytes(current[i], b_bytes);
    remaining->addIncoming(builder_.CreateSub(remaining, builder_.getInt64(static_cast<std::uint64_t>(unroll))), body);
    for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(current[i], body);
    builder_.CreateBr(header);
    builder_.SetInsertPoint(after);
    return {phis.begin(), phis.end()};
  }

  // The lines of B that a later iteration reads. Packed panels lie one after the other, so that the end of one asks for the start of
  // the next; addresses beyond the last are only hints. Hardware prefetchers stop at pages, and fall behind where few rows leave little
  // time for each line.
  void prefetch_panels(const Values& state) {
    constexpr int line_floats = line_bytes / 4;
    for (std::size_t panel = row_groups(); panel < pointer_count(); ++panel) {
      llvm::Value* ahead = add_bytes(state[panel], prefetch_distance_);
      for (int step = 0; step < k_unroll; ++step) {
        for (int column = 0; column < std::min(columns_, isa_.panel_f32); column += line_floats) {
          llvm::Value* address = advance(add_bytes(ahead, step_offsets_[static_cast<std::size_t>(step)]), column);
          builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {builder_.getPtrTy()},
                                   {address, builder_.getInt32(0), builder_.getInt32(3), builder_.getInt32(1)});
        }
      }
    }
  }

  std::size_t row_groups() const { return static_cast<std::size_t>((rows_ + rows_per_base - 1) / rows_per_base); }
  std::size_t pointer_count() const { return row_groups() + static_cast<std::size_t>(panel_count()); }

  llvm::Value* advance(llvm::Value* pointer, int elements) {
    return builder_.CreateConstGEP1_64(f32_, pointer, static_cast<std::uint64_t>(elements));
  }

  // One step of K: B's vectors, then for each row a broadcast of A and its multiply-adds.
  void emit_step(Values& state, int step) {
    Values b;
    for (int vector = 0; vector < vectors_; ++vector) {
      const int column = vector * isa_.f32_lanes;
      llvm::Value* panel = state[row_groups() + static_cast<std::size_t>(column / isa_.panel_f32)];
      llvm::Value* row = add_bytes(panel, step_offsets_[static_cast<std::size_t>(step)]);
      b.push_back(builder_.CreateAlignedLoad(vector_, advance(row, column % isa_.panel_f32), llvm::Align(4)));
    }
    for (int row = 0; row < rows_; ++row) {
      llvm::Value* base = state[static_cast<std::size_t>(row / rows_per_base)];
      llvm::Value* address = add_bytes(base, row_offsets_[static_cast<std::size_t>(row % rows_per_base)]);
      llvm::Value* a = builder_.CreateAlignedLoad(f32_, advance(address, step), llvm::Align(4));
      llvm::Value* broadcast = builder_.CreateVectorSplat(static_cast<unsigned>(isa_.f32_lanes), a);
      for (int vector = 0; vector < vectors_; ++vector) {
        llvm::Value*& accumulator = state[pointer_count() + static_cast<std::size_t>(row * vectors_ + vector)];
        accumulator = codegen::multiply_add(builder_, isa_.fma, broadcast, b[static_cast<std::size_t>(vector)], accumulator);
      }
    }
  }

  codegen::Builder builder_;
  const Isa& isa_;
  int rows_, columns_, vectors_;
  llvm::Type* f32_;
  llvm::Type* i64_;
  llvm::FixedVectorType* vector_;
  llvm::Function* function_ = nullptr;
  Values row_offsets_, step_offsets_;  ///< bytes of 0 to 3 rows of A, and steps of K of B
  llvm::Value *unrolled_bytes_ = nullptr, *prefetch_distance_ = nullptr;
};

}  // namespace

std::vector<Tile> main_loop_tiles(const Isa& isa) {
  std::vector<Tile> tiles;
  std::vector<int> widths{isa.f32_lanes};
  for (int columns = isa.panel_f32; columns <= 4 * isa.panel_f32; columns *= 2) widths.push_back(columns);
  for (const int columns : widths) {
    const int vectors = columns / isa.f32_lanes;
    for (int rows = 1; vectors > 1 || rows <= std::min(most_rows_of_one_vector, isa.vector_registers / 2); ++rows) {
      // Accumulators, the broadcast, and B's vectors; a single row uses each vector of B once, straight from memory.
      // Without fused multiply-add each vector's product needs a register as well.
      const int registers = rows * vectors + 1 + (rows > 1 ? vectors : 0) + (isa.fma ? 0 : 2 * vectors);
      if (registers > isa.vector_registers) break;
      // Between its two loops LLVM permutes the accumulators of wide tiles through the stack where they fill three quarters of
      // the registers (6 x 64 on AVX-512); narrower tiles cover the same rows as fast.
      if (vectors > 2 && 4 * rows * vectors >= 3 * isa.vector_registers) break;
      tiles.push_back({rows, columns});
    }
  }
  return tiles;
}

rkernel::Layer register_layer(const Tile& tile, const rkernel::Contraction& contraction, int k_tile) {
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
  return {static_cast<int>(registers.loops.at(1).tile), static_cast<int>(registers.loops.at(2).tile)};
}

KernelSource main_loop_source(const Isa& isa, const rkernel::Layer& registers) {
  const Tile tile = tile_of(registers);
  return {fmt::format("main loop f32 {}x{}", tile.rows, tile.columns),
          [&isa, tile](llvm::Module& module, const std::string& symbol) { MainLoopEmitter(module, symbol, isa, tile).emit(); }};
}

std::vector<KernelSource> main_loop_sources(const Isa& isa) {
  const rkernel::Contraction contraction{.a = 0, .b = 1, .m = 0, .n = 1, .k = 2};
  std::vector<KernelSource> sources;
  for (const Tile& tile : main_loop_tiles(isa)) sources.push_back(main_loop_source(isa, register_layer(tile, contraction)));
  return sources;
}

}  // namespace dyn::cpu
