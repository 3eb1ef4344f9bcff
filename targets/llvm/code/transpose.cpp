#include "targets/llvm/code/transpose.hpp"

#include <algorithm>

namespace dyn::codegen {

namespace {

/// Most instructions of x86 move elements only within lanes of this size.
constexpr int lane_bits = 128;

using Indices = std::vector<int>;

/// Interleaves the lower (upper) halves of two vectors of `count` elements, in every lane.
Indices interleaved_halves(int count, int lane, bool upper) {
  Indices indices;
  for (int start = 0; start < count; start += lane)
    for (int i = 0; i < lane; ++i)
      indices.push_back(start + i / 2 + (upper ? lane / 2 : 0) + (i % 2) * count);
  return indices;
}

/// Takes the even (odd) lanes of the first of two vectors of `count` elements, then those of the
/// second.
Indices alternate_lanes(int count, int lane, bool odd) {
  Indices indices;
  for (int start = odd ? lane : 0; start < 2 * count; start += 2 * lane)
    for (int i = 0; i < lane; ++i) indices.push_back(start + i);
  return indices;
}

/// Replaces every two rows that are `distance` apart by two shuffles of them.
void exchange(Builder& builder, std::vector<llvm::Value*>& rows, int distance, const Indices& first,
              const Indices& second) {
  for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
    if ((i & distance) != 0) continue;
    llvm::Value*& a = rows[static_cast<std::size_t>(i)];
    llvm::Value*& b = rows[static_cast<std::size_t>(i + distance)];
    llvm::Value* low = builder.CreateShuffleVector(a, b, first);
    b = builder.CreateShuffleVector(a, b, second);
    a = low;
  }
}

/// LLVM looks for one shuffle that does what several do, by way of all that they read. There is
/// none across this, and it is not looked for: half of the time that a transposition compiles.
void end_shuffles(Builder& builder, std::vector<llvm::Value*>& rows) {
  for (llvm::Value*& row : rows) {
    llvm::Type* const type = row->getType();
    if (!type->isFPOrFPVectorTy()) continue;
    row = builder.CreateArithmeticFence(row, type);
  }
}

}  // namespace

// Each stage moves one bit of a row's number into the element's position, and one bit of the
// position into the row's number. An interleaving takes the highest bit of the position within a
// lane and puts the other in lowest; a choice of alternate lanes takes the lowest bit of the lane's
// number and puts the other in highest. So each bit ends in the place of its counterpart.
std::vector<llvm::Value*> transpose(Builder& builder, std::span<llvm::Value* const> rows) {
  std::vector<llvm::Value*> result(rows.begin(), rows.end());
  const int count = static_cast<int>(rows.size());
  if (count == 1) return result;
  const int lane =
      std::min(count, lane_bits / static_cast<int>(rows[0]->getType()->getScalarSizeInBits()));
  for (int distance = lane / 2; distance >= 1; distance /= 2)
    exchange(builder, result, distance, interleaved_halves(count, lane, false),
             interleaved_halves(count, lane, true));
  if (lane < count) end_shuffles(builder, result);
  for (int distance = lane; distance < count; distance *= 2)
    exchange(builder, result, distance, alternate_lanes(count, lane, false),
             alternate_lanes(count, lane, true));
  return result;
}

}  // namespace dyn::codegen
