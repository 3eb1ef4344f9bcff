#pragma once
// The order in which blocks of a launch begin.

#include <cstdint>
#include <vector>

namespace dyn::ptx {

/// A GPU promises no order: a kernel gives the same bits in each, and the same faults but for the
/// block that they name.
struct BlockOrder {
  enum class Kind : std::uint8_t { Ascending, Descending, Shuffled };
  Kind kind = Kind::Ascending;
  std::uint64_t seed = 0;  ///< of Shuffled: each seed has an order of its own
};

namespace emulation {

/// All blocks of a launch, each once.
std::vector<std::int32_t> blocks_in(const BlockOrder& order, std::int64_t blocks);

}  // namespace emulation
}  // namespace dyn::ptx
