#pragma once
// Matrix tiles in memory, for CPUs that have none: each instruction calls a function of the test.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "targets/cpu/tile/matrix_loop.hpp"

namespace dyn::testing {

struct SoftTile {
  std::int16_t rows = 0, bytes = 0;
  std::array<std::array<std::uint32_t, 16>, 16> words{};
};

inline void soft_shape(SoftTile* tile, std::int8_t rows, std::int16_t bytes) {
  *tile = {rows, bytes, {}};
}

inline void soft_load(SoftTile* tile, const char* from, std::int64_t stride) {
  tile->words = {};
  for (int row = 0; row < tile->rows; ++row)
    std::memcpy(tile->words[static_cast<std::size_t>(row)].data(), from + row * stride,
                static_cast<std::size_t>(tile->bytes));
}

inline void soft_zero(SoftTile* tile) { tile->words = {}; }

inline void soft_store(const SoftTile* tile, char* to, std::int64_t stride) {
  for (int row = 0; row < tile->rows; ++row)
    std::memcpy(to + row * stride, tile->words[static_cast<std::size_t>(row)].data(),
                static_cast<std::size_t>(tile->bytes));
}

/// The sum of a group's products with what was there before.
inline std::uint32_t soft_group(cpu::Group group, std::uint32_t sum, std::uint32_t a,
                                std::uint32_t b) {
  if (group == cpu::Group::Bytes) {
    auto total = static_cast<std::int32_t>(sum);
    for (int i = 0; i < 4; ++i)
      total += static_cast<std::int32_t>(a >> (8 * i) & 255) *
               static_cast<std::int8_t>(b >> (8 * i) & 255);
    return static_cast<std::uint32_t>(total);
  }
  float total = std::bit_cast<float>(sum);
  for (int i = 0; i < 2; ++i)
    total +=
        std::bit_cast<float>((a >> (16 * i)) << 16) * std::bit_cast<float>((b >> (16 * i)) << 16);
  return std::bit_cast<std::uint32_t>(total);
}

inline void soft_multiply(SoftTile* sums, const SoftTile* a, const SoftTile* b,
                          std::int32_t group) {
  for (std::size_t row = 0; row < static_cast<std::size_t>(a->rows); ++row)
    for (std::size_t i = 0; i < static_cast<std::size_t>(a->bytes / 4); ++i)
      for (std::size_t column = 0; column < static_cast<std::size_t>(b->bytes / 4); ++column)
        sums->words[row][column] =
            soft_group(static_cast<cpu::Group>(group), sums->words[row][column], a->words[row][i],
                       b->words[i][column]);
}

class SoftTiles final : public cpu::MatrixCode {
 public:
  SoftTiles(codegen::Builder& builder, cpu::Group group)
      : builder_(builder),
        group_(group),
        tiles_(builder.CreateAlloca(
            llvm::ArrayType::get(builder.getInt8Ty(), cpu::matrix_tiles * sizeof(SoftTile)))) {}

  void configure(std::span<const cpu::MatrixShape> shapes) override {
    for (std::size_t i = 0; i < shapes.size(); ++i)
      call(&soft_shape, {tile(static_cast<int>(i)), shapes[i].rows, shapes[i].bytes});
  }
  void zero(int number) override { call(&soft_zero, {tile(number)}); }
  void load(int number, llvm::Value* address, llvm::Value* stride) override {
    call(&soft_load, {tile(number), address, stride});
  }
  void store(int number, llvm::Value* address, llvm::Value* stride) override {
    call(&soft_store, {tile(number), address, stride});
  }
  void add_products(int sums, int a, int b) override {
    call(&soft_multiply,
         {tile(sums), tile(a), tile(b), builder_.getInt32(static_cast<std::uint32_t>(group_))});
  }
  void release() override {}

 private:
  llvm::Value* tile(int number) {
    return builder_.CreateConstGEP1_64(builder_.getInt8Ty(), tiles_,
                                       static_cast<std::uint64_t>(number) * sizeof(SoftTile));
  }

  template <class Function>
  void call(Function* function, const std::vector<llvm::Value*>& arguments) {
    std::vector<llvm::Type*> types;
    for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
    llvm::Value* address = builder_.CreateIntToPtr(
        builder_.getInt64(reinterpret_cast<std::uintptr_t>(function)), builder_.getPtrTy());
    builder_.CreateCall(type, address, arguments);
  }

  codegen::Builder& builder_;
  const cpu::Group group_;
  llvm::Value* tiles_;
};

}  // namespace dyn::testing
