#include "targets/ptx/emulator/counters/launch_meter.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace dyn::ptx::emulation {
namespace {

using choice::warp_lanes;

constexpr std::uint64_t word_bytes = 4, banks = 32, sector_bytes = 32;

/// The units of `unit` bytes that the accesses meet, each once, sorted.
std::vector<std::uint64_t> units_of(std::span<const std::uint64_t> addresses, std::uint32_t bytes,
                                    std::uint64_t unit) {
  std::vector<std::uint64_t> units;
  for (const std::uint64_t address : addresses)
    for (std::uint64_t at = address / unit; at <= (address + bytes - 1) / unit; ++at)
      units.push_back(at);
  std::ranges::sort(units);
  units.erase(std::ranges::unique(units).begin(), units.end());
  return units;
}

std::int64_t divided_up(std::uint64_t value, std::uint64_t by) {
  return static_cast<std::int64_t>((value + by - 1) / by);
}

/// Bytes that the accesses cover, each once.
std::uint64_t distinct_bytes(std::span<const std::uint64_t> addresses, std::uint32_t bytes) {
  std::vector<std::uint64_t> sorted(addresses.begin(), addresses.end());
  std::ranges::sort(sorted);
  std::uint64_t sum = 0, end = 0;
  for (const std::uint64_t address : sorted) {
    const std::uint64_t from = std::max(address, end);
    if (address + bytes > from) sum += address + bytes - from;
    end = std::max(end, address + bytes);
  }
  return sum;
}

std::int64_t passes_of(std::span<const std::uint64_t> offsets, std::uint32_t bytes) {
  std::array<std::int64_t, banks> words = {};
  for (const std::uint64_t word : units_of(offsets, bytes, word_bytes)) ++words[word % banks];
  return std::ranges::max(words);
}

}  // namespace

Traffic wavefronts(std::span<const std::uint64_t> offsets, std::uint32_t bytes) {
  Traffic traffic{.requests = 1, .units = 0, .least = 0};
  const std::size_t together =
      bytes <= word_bytes ? warp_lanes : warp_lanes * word_bytes / std::min<std::size_t>(bytes, 16);
  for (std::size_t first = 0; first < offsets.size(); first += together) {
    traffic.units +=
        passes_of(offsets.subspan(first, std::min(together, offsets.size() - first)), bytes);
    ++traffic.least;
  }
  return traffic;
}

Traffic sectors(std::span<const std::uint64_t> addresses, std::uint32_t bytes) {
  return {.requests = 1,
          .units = static_cast<std::int64_t>(units_of(addresses, bytes, sector_bytes).size()),
          .least = divided_up(distinct_bytes(addresses, bytes), sector_bytes)};
}

void LaunchMeter::begin(const EmulatedKernel& kernel, const rkernel::DeviceLaunch& launch) {
  kernel_ = &kernel;
  counters_ = {};
  counters_.kernel = launch.name;
  counters_.blocks = launch.blocks;
  counters_.threads = launch.threads;
  counters_.shared_bytes = launch.shared_bytes;
  counters_.live_words = kernel.live_words;
  operands_.assign(launch.operands.begin(), launch.operands.end());
  touched_.clear();
  for (const rkernel::OperandRange& operand : operands_) {
    touched_.emplace_back(static_cast<std::size_t>(divided_up(operand.bytes, sector_bytes)));
    counters_.operands.push_back(
        {{}, 0, static_cast<std::int64_t>(operand.bytes), operand.written});
  }
}

void LaunchMeter::begin_block(BlockMeter& block) {
  enter(block);
  const auto threads = static_cast<std::size_t>(counters_.threads);
  block_->executions.assign(threads * kernel_->blocks.size(), 0);
  block_->instances.assign(threads * kernel_->sites.size() * 2, 0);
  block_->pending.clear();
}

// Lanes of a warp run a block of code together as long as they can; where they part, the hardware
// runs it for each part. A loop that some lanes leave earlier runs as often as the last lane needs.
void LaunchMeter::end_block() {
  for (const auto& [place, request] : block_->pending) count(place, request);
  block_->pending.clear();
  const std::size_t blocks = kernel_->blocks.size();
  for (int first = 0; first < counters_.threads; first += warp_lanes) {
    const int end = std::min(first + warp_lanes, counters_.threads);
    for (std::size_t block = 0; block < blocks; ++block) {
      std::uint32_t most = 0;
      for (int thread = first; thread < end; ++thread)
        most = std::max(most, executions_of(thread)[block]);
      const CodeBlock& code = kernel_->blocks[block];
      counters_.all.add(code.instructions, most);
      if (code.main_loop) counters_.main_loop.add(code.instructions, most);
      if (code.innermost) counters_.innermost.add(code.instructions, most);
    }
  }
}

KernelCounters LaunchMeter::take() {
  for (std::size_t i = 0; i < touched_.size(); ++i)
    counters_.operands[i].touched = std::ranges::count(touched_[i], true);
  return std::exchange(counters_, {});
}

std::uint32_t LaunchMeter::all_lanes_of(std::uint32_t warp) const {
  const int lanes = std::min(warp_lanes, counters_.threads - static_cast<int>(warp) * warp_lanes);
  return lanes == warp_lanes ? ~0u : (1u << lanes) - 1;
}

void LaunchMeter::access(int thread, std::uint32_t site, std::uint64_t address, std::uint32_t bytes,
                         bool shared) {
  const std::size_t counter =
      (static_cast<std::size_t>(thread) * kernel_->sites.size() + site) * 2 + (shared ? 1 : 0);
  const BlockMeter::Place place{static_cast<std::uint32_t>(thread / warp_lanes), site,
                                block_->instances[counter]++, shared};
  BlockMeter::Request& request = block_->pending[place];
  const auto lane = static_cast<std::size_t>(thread % warp_lanes);
  request.lanes |= 1u << lane;
  request.bytes = std::max(request.bytes, bytes);
  request.addresses[lane] = address;
  if (request.lanes != all_lanes_of(place.warp)) return;
  count(place, request);
  block_->pending.erase(place);
}

void LaunchMeter::count(const BlockMeter::Place& place, const BlockMeter::Request& request) {
  std::vector<std::uint64_t> addresses;
  for (std::uint32_t left = request.lanes; left != 0; left &= left - 1)
    addresses.push_back(request.addresses[static_cast<std::size_t>(std::countr_zero(left))]);
  if (place.shared)
    count_shared(place.site, wavefronts(addresses, request.bytes));
  else
    count_global(addresses, request.bytes);
}

void LaunchMeter::count_shared(std::uint32_t site, const Traffic& traffic) {
  counters_.shared.add(traffic);
  if (kernel_->blocks[kernel_->sites[site].block].main_loop)
    counters_.main_loop_shared.add(traffic);
}

void LaunchMeter::count_global(std::span<const std::uint64_t> addresses, std::uint32_t bytes) {
  const Traffic traffic = sectors(addresses, bytes);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const rkernel::OperandRange& operand = operands_[i];
    if (addresses[0] < operand.begin || addresses[0] >= operand.begin + operand.bytes) continue;
    counters_.operands[i].traffic.add(traffic);
    const std::uint64_t first = operand.begin / sector_bytes;
    for (const std::uint64_t sector : units_of(addresses, bytes, sector_bytes))
      if (sector - first < touched_[i].size()) touched_[i][sector - first] = true;
    return;
  }
  counters_.tables.add(traffic);
}

}  // namespace dyn::ptx::emulation
