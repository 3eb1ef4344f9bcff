#include "targets/ptx/emulator/multiprocessor/block_order.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace dyn::ptx::emulation {

std::vector<std::int32_t> blocks_in(const BlockOrder& order, std::int64_t blocks) {
  std::vector<std::int32_t> sequence(static_cast<std::size_t>(blocks));
  std::iota(sequence.begin(), sequence.end(), 0);
  if (order.kind == BlockOrder::Kind::Descending) std::ranges::reverse(sequence);
  if (order.kind == BlockOrder::Kind::Shuffled) {
    std::mt19937_64 random(order.seed);
    for (std::size_t left = sequence.size(); left > 1; --left)
      std::swap(sequence[left - 1], sequence[random() % left]);
  }
  return sequence;
}

}  // namespace dyn::ptx::emulation
