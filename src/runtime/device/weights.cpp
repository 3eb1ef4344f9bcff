#include "src/runtime/device/weights.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/clock.hpp"
#include "src/rkernel/expr/narrow.hpp"
#include "src/runtime/plan/arena_layout.hpp"
#include "src/runtime/system/parallel_for.hpp"

namespace dyn::runtime {
namespace {

/// Elements that are made, converted and uploaded at a time: long against an upload's cost, short
/// against a weight.
constexpr std::int64_t part_elements = std::int64_t{1} << 20;
constexpr std::int64_t thread_elements = std::int64_t{1} << 16;

std::int64_t elements_of(const graph::Value& value) {
  return value.kind == graph::ValueKind::Constant ? 1 : element_count(weight_shape(value));
}

/// Makes parts of one value after another.
class Filler {
 public:
  Filler(const graph::Module& module, const WeightSources& sources, int threads, WeightTimes& times)
      : module_(module), sources_(sources), threads_(threads), times_(times) {}

  /// Elements [first, first + count), `count` at most part_elements, as `dtype`; valid until the
  /// next call.
  const std::byte* part(graph::ValueId id, DType dtype, std::int64_t first, std::int64_t count) {
    const graph::Value& value = module_.value(id);
    const auto element_bytes = static_cast<std::int64_t>(size_of(value.type.dtype));
    grow(plain_, count * element_bytes);
    const bool is_constant = value.kind == graph::ValueKind::Constant;
    const Clock::time_point start = Clock::now();
    if (is_constant) {
      store_constant(value, plain_.data());
    } else {
      parallel_for(count, thread_elements, threads_, [&](std::int64_t from, std::int64_t to) {
        sources_.fill(id, first + from, to - from, plain_.data() + from * element_bytes);
      });
    }
    add_time(!is_constant && sources_.is_random(id) ? times_.random : times_.other, start);
    return dtype == value.type.dtype ? plain_.data() : converted(value.type.dtype, dtype, count);
  }

 private:
  static void grow(std::vector<std::byte>& buffer, std::int64_t bytes) {
    if (buffer.size() < static_cast<std::size_t>(bytes))
      buffer.resize(static_cast<std::size_t>(bytes));
  }

  const std::byte* converted(DType from, DType to, std::int64_t count) {
    grow(converted_, count * static_cast<std::int64_t>(size_of(to)));
    const Clock::time_point start = Clock::now();
    parallel_for(count, thread_elements, threads_, [&](std::int64_t first, std::int64_t last) {
      rkernel::convert(from, plain_.data() + first * static_cast<std::int64_t>(size_of(from)), to,
                       converted_.data() + first * static_cast<std::int64_t>(size_of(to)),
                       last - first);
    });
    add_time(times_.other, start);
    return converted_.data();
  }

  static void add_time(double& sum, Clock::time_point start) { sum += seconds_since(start); }

  const graph::Module& module_;
  const WeightSources& sources_;
  int threads_;
  WeightTimes& times_;
  std::vector<std::byte> plain_, converted_;
};

}  // namespace

DeviceWeights::DeviceWeights(const graph::Module& module,
                             const std::vector<rkernel::Problem>& problems,
                             std::span<const std::size_t> groups) {
  for (const std::size_t group : groups) {
    for (const rkernel::Operand& operand : problems[group].operands) {
      const graph::Value& value = module.value(operand.buffer);
      if (value.kind != graph::ValueKind::Weight && value.kind != graph::ValueKind::Constant)
        continue;
      if (!rkernel::converts(value.type.dtype, operand.dtype) ||
          operand.form != rkernel::Form::Strided) {
        throw Error(ErrorKind::internal,
                    fmt::format("'{}' cannot be read as {} by '{}' on a device", value.name,
                                name_of(operand.dtype), problems[group].name));
      }
      const auto [found, is_new] =
          places_.emplace(std::pair(operand.buffer, operand.dtype), Place{});
      if (!is_new) continue;
      found->second = {next_,
                       static_cast<std::size_t>(elements_of(value)) * size_of(operand.dtype)};
      if (found->second.bytes > (std::size_t{1} << 62) - next_)
        throw Error(ErrorKind::model, "the weights have more bytes than can be addressed");
      next_ += (found->second.bytes + device_alignment - 1) / device_alignment * device_alignment;
    }
  }
}

DeviceWeights::DeviceWeights(const graph::Module& module,
                             const std::vector<rkernel::Problem>& problems,
                             std::span<const std::size_t> groups, rkernel::Device& device,
                             const WeightSources& sources, int threads, WeightTimes& times)
    : DeviceWeights(module, problems, groups) {
  if (places_.empty()) return;
  block_ = rkernel::DeviceBlock(device, std::max(next_, device_alignment), "weights");
  const std::unique_ptr<rkernel::Stream> stream = device.make_stream();
  Filler filler(module, sources, threads, times);
  for (const auto& [key, place] : places_) {
    const auto& [id, dtype] = key;
    const std::int64_t elements = elements_of(module.value(id));
    for (std::int64_t first = 0; first < elements; first += part_elements) {
      const std::int64_t count = std::min(part_elements, elements - first);
      const std::byte* part = filler.part(id, dtype, first, count);
      stream->upload(
          block_.address() + place.offset + static_cast<std::size_t>(first) * size_of(dtype), part,
          static_cast<std::size_t>(count) * size_of(dtype));
    }
  }
  stream->synchronise();
}

rkernel::OperandRange DeviceWeights::operand(const rkernel::Operand& operand) const {
  const Place& place = places_.at({operand.buffer, operand.dtype});
  return {block_.address() == 0 ? 0 : block_.address() + place.offset, place.bytes, false};
}

}  // namespace dyn::runtime
