#include "tests/avx512/loop_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tests/support/round_machine.hpp"
#include "tests/unit/cpu/loop/guarded_buffer.hpp"

namespace dyn::avx512_check {
namespace {

using testing::GuardedBuffer;
using Contents = std::vector<std::vector<std::uint8_t>>;

/// Runs a launch, `step` tickets in one call, on buffers that begin as `initial`; returns the
/// buffers afterwards.
Contents run_launch(const rkernel::Launch& launch, std::int64_t step, const Contents& initial) {
  std::vector<GuardedBuffer> buffers;
  std::vector<void*> pointers;
  for (const auto& bytes : initial) {
    buffers.emplace_back(bytes.size());
    std::copy(bytes.begin(), bytes.end(), static_cast<std::uint8_t*>(buffers.back().data()));
    pointers.push_back(buffers.back().data());
  }
  const GuardedBuffer scratch((launch.scratch_bytes + 63) / 64 * 64),
      shared((launch.shared_bytes + 63) / 64 * 64);
  std::atomic<std::int32_t> status{0};
  const rkernel::KernelArgs args{pointers.data(), launch.ints.data(), &status, shared.data()};
  const auto run_stage = [&](rkernel::KernelFunction function, std::int64_t tickets) {
    for (std::int64_t first = 0; first < tickets; first += step)
      function(&args, first, std::min(step, tickets - first), scratch.data());
  };
  run_stage(launch.function, launch.tickets);
  if (launch.merge != nullptr) run_stage(launch.merge, launch.merge_tickets);
  if (status != 0) throw Failure(fmt::format("status {}", status.load()));
  if (!scratch.intact()) throw Failure("bytes before the scratch memory were written");
  if (!shared.intact()) throw Failure("bytes before the shared memory were written");
  Contents contents;
  for (const GuardedBuffer& buffer : buffers) {
    if (!buffer.intact())
      throw Failure(fmt::format("bytes before operand {} were written", contents.size()));
    const auto* data = static_cast<const std::uint8_t*>(buffer.data());
    contents.emplace_back(data, data + buffer.bytes());
  }
  return contents;
}

/// The same class without scratch, where the class of `chosen` keeps values in scratch; else
/// nothing.
std::size_t plain_class(const std::vector<codegen::KernelSource>& sources, std::size_t chosen) {
  const std::string with_scratch = "loop scratch";
  if (!sources[chosen].key.starts_with(with_scratch)) return sources.size();
  const std::string plain = "loop plain" + sources[chosen].key.substr(with_scratch.size());
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const auto& source) { return source.key == plain; });
  return static_cast<std::size_t>(found - sources.begin());
}

}  // namespace

void LoopCheck::add(std::unique_ptr<testing::ProblemBuilder> builder, unsigned seed,
                    double tolerance, bool specials,
                    std::map<int, std::vector<std::uint8_t>> given) {
  auto draft = cpu::LoopKernel::draft(builder->problem, isa_,
                                      std::make_shared<choice::Machine>(testing::round_machine()));
  auto sources = draft.sources();
  items_.push_back({std::move(builder), std::move(draft), std::move(sources), seed, tolerance,
                    specials, std::move(given)});
}

std::vector<codegen::KernelSource> LoopCheck::sources() const {
  std::vector<codegen::KernelSource> all;
  for (const Item& item : items_) all.insert(all.end(), item.sources.begin(), item.sources.end());
  return all;
}

void LoopCheck::run(std::span<void* const> addresses) {
  for (Item& item : items_) {
    try {
      run_item(*this, item, addresses.first(item.sources.size()));
    } catch (const Failure& failure) {
      throw Failure(fmt::format("{}, extents {}, seed {}: {}", item.builder->problem.name,
                                fmt::join(item.builder->extents, " x "), item.seed,
                                failure.what()));
    }
    addresses = addresses.subspan(item.sources.size());
  }
}

void LoopCheck::run_item(const LoopCheck& check, Item& item, std::span<void* const> addresses) {
  const auto kernel = std::move(item.draft).with_code({addresses.begin(), addresses.end()});
  rkernel::Launch launch = kernel->plan({item.builder->values, 2});
  const Contents initial = random_contents(*item.builder, item.seed, item.specials, item.given);
  const Contents wanted = interpreted(*item.builder, initial);
  check.compare(item, run_launch(launch, std::max<std::int64_t>(launch.tickets, 1), initial),
                wanted);
  check.compare(item, run_launch(launch, 1 + item.seed % 3, initial), wanted);
  const auto bound =
      std::find(addresses.begin(), addresses.end(), reinterpret_cast<void*>(launch.function));
  const std::size_t plain =
      plain_class(item.sources, static_cast<std::size_t>(bound - addresses.begin()));
  if (plain == addresses.size()) return;
  launch.function = reinterpret_cast<rkernel::KernelFunction>(addresses[plain]);
  check.compare(item, run_launch(launch, std::max<std::int64_t>(launch.tickets, 1), initial),
                wanted);
}

void LoopCheck::compare(const Item& item, const Contents& got, const Contents& wanted) const {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    require_close(*item.builder, static_cast<int>(i), got[i], wanted[i], item.tolerance);
}

}  // namespace dyn::avx512_check
