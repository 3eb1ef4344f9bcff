#include "targets/cpu/tile/dot_loop.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "targets/cpu/x86/functions.hpp"
#include "targets/cpu/x86/vector_code.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/jit/listing.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;
using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

// Enough chains of multiply-adds to hide their latency; more rows would only keep more streams of
// memory open.
constexpr int most_rows = 8;
// With more columns lanes along n have as much to do.
constexpr int most_columns = 8;
// Streams that share a base pointer: x86 addresses base + {1, 2} * index directly, and 3 * index is
// a second register.
constexpr int streams_per_base = 4;

class DotLoopEmitter {
 public:
  DotLoopEmitter(llvm::Module& module, const std::string& symbol, const codegen::Isa& isa,
                 const Tile& tile)
      : builder_(module.getContext()),
        code_(builder_, isa),
        isa_(isa),
        rows_(tile.rows),
        columns_(tile.columns) {
    function_ = create_main_loop(builder_, module, symbol);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
  }

  void emit() {
    a_ = streams(argument(a_argument), argument(a_row_argument), rows_);
    b_ = streams(argument(b_argument), argument(panel_argument), columns_);
    llvm::Value* k = argument(k_argument);
    llvm::Value* whole = code_.round_down(k, isa_.f32_lanes);
    const Values zeros(static_cast<std::size_t>(rows_ * columns_),
                       llvm::Constant::getNullValue(code_.vector_type()));
    // One of two loops has no step: the other knows whether it asks for lines ahead.
    llvm::Value* asked = builder_.CreateSelect(
        builder_.CreateICmpNE(argument(ahead_argument), number(0)), whole, number(0));
    Values sums = steps(number(0), asked, true, zeros);
    sums = steps(asked, whole, false, sums);
    step(sums, whole, code_.first_lanes(builder_.CreateSub(k, whole)));
    store(sums);
    builder_.CreateRetVoid();
  }

 private:
  /// Rows that lie `stride` apart: one pointer for each four, and the byte offsets of those four.
  struct Streams {
    Values bases, offsets;
  };

  llvm::ConstantInt* number(std::int64_t value) { return code_.number(value); }
  llvm::Argument* argument(unsigned index) { return function_->getArg(index); }
  llvm::Value* add_bytes(llvm::Value* pointer, llvm::Value* bytes) {
    return builder_.CreateGEP(builder_.getInt8Ty(), pointer, bytes);
  }

  Streams streams(llvm::Value* base, llvm::Value* stride, int count) {
    llvm::Value* bytes = builder_.CreateShl(stride, 2);
    Streams made;
    made.offsets = {number(0), bytes, builder_.CreateShl(bytes, 1),
                    builder_.CreateMul(bytes, number(3))};
    for (int i = 0; i < count; i += streams_per_base) {
      made.bases.push_back(base);
      base = add_bytes(base, builder_.CreateShl(bytes, 2));
    }
    return made;
  }

  llvm::Value* row_of(const Streams& from, int index) {
    const auto i = static_cast<std::size_t>(index);
    return add_bytes(from.bases[i / streams_per_base], from.offsets[i % streams_per_base]);
  }

  llvm::Value* load(const Streams& from, int index, llvm::Value* k, llvm::Value* mask) {
    return code_.load_vector(code_.element(row_of(from, index), k), mask);
  }

  Values steps(llvm::Value* first, llvm::Value* end, bool asks, const Values& before) {
    CountedLoop loop(builder_, first, end, number(isa_.f32_lanes), "k", before);
    Values sums;
    for (std::size_t i = 0; i < before.size(); ++i) sums.push_back(loop.carried(i));
    llvm::Value* asked = builder_.CreateAdd(loop.index(), argument(ahead_argument));
    for (int row = 0; asks && row < rows_; ++row)
      codegen::prefetch(builder_, code_.element(row_of(a_, row), asked));
    step(sums, loop.index(), nullptr);
    return loop.close(sums);
  }

  void step(Values& sums, llvm::Value* k, llvm::Value* mask) {
    Values b;
    for (int column = 0; column < columns_; ++column) b.push_back(load(b_, column, k, mask));
    for (int row = 0; row < rows_; ++row) {
      llvm::Value* a = load(a_, row, k, mask);
      for (int column = 0; column < columns_; ++column) {
        llvm::Value*& sum = sums[static_cast<std::size_t>(row * columns_ + column)];
        sum = code_.fused(a, b[static_cast<std::size_t>(column)], sum);
      }
    }
  }

  /// Sums of neighbouring lanes: those of `low`, then those of `high`.
  llvm::Value* add_neighbours(llvm::Value* low, llvm::Value* high) {
    std::vector<int> even, odd;
    for (int lane = 0; lane < isa_.f32_lanes; ++lane) {
      even.push_back(2 * lane);
      odd.push_back(2 * lane + 1);
    }
    return builder_.CreateFAdd(builder_.CreateShuffleVector(low, high, even),
                               builder_.CreateShuffleVector(low, high, odd));
  }

  /// The sums over lanes of at most as many vectors as there are lanes: of vector i in lane i.
  llvm::Value* reduced(Values vectors) {
    for (int lanes = isa_.f32_lanes; lanes > 1; lanes /= 2) {
      Values halved;
      for (std::size_t i = 0; i < vectors.size(); i += 2)
        halved.push_back(add_neighbours(vectors[i], vectors[std::min(i + 1, vectors.size() - 1)]));
      vectors = std::move(halved);
    }
    return vectors.front();
  }

  void store(const Values& sums) {
    llvm::Value* keep = builder_.CreateICmpNE(argument(accumulate_argument), number(0));
    llvm::Value* row_bytes = builder_.CreateShl(argument(c_row_argument), 2);
    llvm::Value* row = argument(c_argument);
    llvm::Value* totals = nullptr;
    for (int i = 0; i < rows_ * columns_; ++i) {
      const int lane = i % isa_.f32_lanes;
      const auto first = sums.begin() + i;
      if (lane == 0)
        totals = reduced(
            Values(first, first + std::min<std::ptrdiff_t>(isa_.f32_lanes, sums.end() - first)));
      llvm::Value* address = builder_.CreateConstGEP1_64(builder_.getFloatTy(), row,
                                                         static_cast<std::uint64_t>(i % columns_));
      llvm::Value* before = code_.load(address);
      before = builder_.CreateSelect(keep, before, llvm::ConstantFP::get(builder_.getFloatTy(), 0));
      llvm::Value* sum = builder_.CreateFAdd(
          builder_.CreateExtractElement(totals, static_cast<std::uint64_t>(lane)), before);
      code_.store(sum, address);
      if ((i + 1) % columns_ == 0) row = add_bytes(row, row_bytes);
    }
  }

  Builder builder_;
  VectorCode code_;
  const codegen::Isa& isa_;
  int rows_, columns_;
  llvm::Function* function_ = nullptr;
  Streams a_, b_;
};

}  // namespace

std::vector<Tile> dot_tiles(const codegen::Isa& isa) {
  std::vector<Tile> tiles;
  for (int columns = 1; columns <= most_columns; ++columns) {
    for (int rows = 1; rows <= most_rows; ++rows) {
      // Sums, B's vectors, A's vector; without fused multiply-add a product for each sum.
      if (rows * columns + columns + (isa.fma ? 2 : rows * columns + 3) > isa.vector_registers)
        break;
      tiles.push_back({rows, columns});
    }
  }
  return tiles;
}

int most_dot_columns(const codegen::Isa& isa) { return dot_tiles(isa).back().columns; }

codegen::KernelSource dot_loop_source(const codegen::Isa& isa, const Tile& tile) {
  return {fmt::format("dot loop f32 {}x{}", tile.rows, tile.columns),
          [&isa, tile](llvm::Module& module, const std::string& symbol) {
            DotLoopEmitter(module, symbol, isa, tile).emit();
          }};
}

std::vector<codegen::KernelSource> dot_loop_sources(const codegen::Isa& isa) {
  std::vector<codegen::KernelSource> sources;
  for (const Tile& tile : dot_tiles(isa)) sources.push_back(dot_loop_source(isa, tile));
  return sources;
}

std::optional<rkernel::CodeListing> list_dot_loop(const codegen::Isa& isa, const Tile& tile) {
  const std::vector<Tile> tiles = dot_tiles(isa);
  if (std::ranges::find(tiles, tile) == tiles.end()) return std::nullopt;
  return codegen::list_code(isa, dot_loop_source(isa, tile));
}

}  // namespace dyn::cpu
