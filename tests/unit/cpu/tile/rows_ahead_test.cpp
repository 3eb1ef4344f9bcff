// How far beyond its place a tile asks for rows of A. The functions emit IR, which folds to a
// number where all arguments are numbers.

#include <doctest/doctest.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>

#include "targets/cpu/tile/tile_loop.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;

namespace {

std::int64_t emitted(llvm::Value* (*distance)(dyn::codegen::Builder&, const TileRows&),
                     std::int64_t rows, std::int64_t stride, std::int64_t k, bool is_only = false) {
  llvm::LLVMContext context;
  dyn::codegen::Builder builder(context);
  const auto number = [&](std::int64_t value) {
    return builder.getInt64(static_cast<std::uint64_t>(value));
  };
  llvm::Value* value =
      distance(builder, {number(rows), number(stride), number(k), builder.getInt1(is_only)});
  return llvm::cast<llvm::ConstantInt>(value)->getSExtValue();
}

}  // namespace

TEST_CASE("a tile asks for the rows of the next one, in large tiles for its own further on") {
  CHECK(emitted(rows_ahead, 14, 70, 64) == 14 * 70);
  CHECK(emitted(rows_ahead, 14, 1433, 1433) == 14 * 1433);
  CHECK(emitted(rows_ahead, 14, 3703, 3703) == 128);
  CHECK(emitted(rows_ahead, 14, 3703, 512) == 14 * 3703);
  CHECK(emitted(rows_ahead, 14, 64, 64, true) == 0);
}

TEST_CASE("a tile that is called asks for no rows that share places of a cache") {
  // 28 rows in four places of each way.
  CHECK(emitted(called_rows_ahead, 14, 3 * 256, 768) == 0);
  CHECK(emitted(called_rows_ahead, 14, 3 * 128, 384) == 14 * 384);
  CHECK(emitted(called_rows_ahead, 8, 3 * 256, 768) == 8 * 768);
  CHECK(emitted(called_rows_ahead, 13, 85, 85) == 13 * 85);
  CHECK(emitted(called_rows_ahead, 13, 85, 85, true) == 0);
}

TEST_CASE(
    "a tile with lanes along K asks for the rows of the next one where they are short, and for "
    "nothing else") {
  CHECK(emitted(dot_rows_ahead, 8, 64, 64) == 8 * 64);
  CHECK(emitted(dot_rows_ahead, 8, 300, 64) == 8 * 300);
  CHECK(emitted(dot_rows_ahead, 8, 1024, 1024) == 0);
  CHECK(emitted(dot_rows_ahead, 1, 30000, 30000) == 0);
  CHECK(emitted(dot_rows_ahead, 8, 64, 64, true) == 0);
}
