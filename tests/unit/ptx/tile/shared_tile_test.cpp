#include <doctest/doctest.h>
#include <llvm/IR/Constants.h>

#include <set>

#include "targets/ptx/tile/shared_tile.hpp"

using namespace dyn::ptx;

namespace {

std::int64_t value_of(llvm::Value* value) {
  return llvm::cast<llvm::ConstantInt>(value)->getSExtValue();
}

SharedTile swizzled(int rows, int row_bytes) {
  return {.rows = rows, .row_bytes = row_bytes, .padding_bytes = 0, .swizzled = true};
}

}  // namespace

TEST_CASE("every chunk of a tile has a place of its own within its row") {
  for (const SharedTile& tile :
       {swizzled(17, 16), swizzled(16, 32), swizzled(16, 48), swizzled(32, 64), swizzled(24, 96),
        swizzled(16, 128), swizzled(9, 256), swizzled(8, 384), SharedTile{16, 64, 16, false}}) {
    std::set<std::int64_t> places;
    for (int row = 0; row < tile.rows; ++row) {
      for (int chunk = 0; chunk < tile.chunks(); ++chunk) {
        const std::int64_t place = tile.chunk_offset(row, chunk);
        CHECK(place >= static_cast<std::int64_t>(row) * tile.stride_bytes());
        CHECK(place + chunk_bytes <=
              static_cast<std::int64_t>(row) * tile.stride_bytes() + tile.row_bytes);
        places.insert(place);
      }
    }
    CHECK(static_cast<int>(places.size()) == tile.rows * tile.chunks());
    CHECK(tile.bytes() % 128 == 0);
  }
}

TEST_CASE("one chunk of eight successive rows fills all banks of a swizzled tile") {
  for (const int row_bytes : {16, 32, 48, 64, 96, 128, 160, 256, 512}) {
    const SharedTile tile = swizzled(32, row_bytes);
    for (int first = 0; first < 32; first += 8) {
      for (int chunk = 0; chunk < tile.chunks(); ++chunk) {
        std::set<std::int64_t> banks;
        for (int row = first; row < first + 8; ++row)
          banks.insert(tile.chunk_offset(row, chunk) % 128);
        INFO("rows of " << row_bytes << " bytes, chunk " << chunk);
        CHECK(banks.size() == 8);
      }
    }
  }
}

TEST_CASE("places in IR are the places of the tile") {
  llvm::LLVMContext context;
  dyn::codegen::Builder builder(context);
  for (const SharedTile& tile :
       {swizzled(32, 64), swizzled(32, 128), swizzled(32, 48), SharedTile{32, 64, 16, false}}) {
    for (int row = 0; row < tile.rows; ++row) {
      for (int column = 0; column < tile.row_bytes / 2; ++column) {
        const int chunk = column / 8;
        const auto number = [&](int value) {
          return builder.getInt32(static_cast<std::uint32_t>(value));
        };
        CHECK(value_of(tile.chunk_offset(builder, number(row), number(chunk))) ==
              tile.chunk_offset(row, chunk));
        CHECK(value_of(tile.element_offset(builder, number(row), number(column), 2)) ==
              tile.chunk_offset(row, chunk) + column % 8 * 2);
      }
    }
  }
}
