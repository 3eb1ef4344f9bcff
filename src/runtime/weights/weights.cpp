#include "src/runtime/weights/weights.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/clock.hpp"
#include "src/base/load_progress.hpp"
#include "src/rkernel/expr/narrow.hpp"
#include "src/runtime/system/parallel_for.hpp"

namespace dyn::runtime {
namespace {

/// Work of one part of a parallel loop: long against the cost of handing it out, short against a
/// weight.
constexpr std::int64_t part_bytes = std::int64_t{256} << 10;

/// Runs `body` and adds its time to `sum`.
void timed(double& sum, const std::function<void()>& body) {
  const Clock::time_point start = Clock::now();
  body();
  sum += seconds_since(start);
}

/// Counts down what is still to be made of each weight, and gives back those of which nothing is.
class Uses {
 public:
  Uses(const graph::Module& module, const WeightLayout& layout, const WeightSources& sources)
      : module_(module), sources_(sources) {
    for (const auto& [value, offset] : layout.plain()) count(value, 1);
    for (const auto& [view, offset] : layout.packed()) count(view.weight, 1);
  }

  void done(graph::ValueId value) { count(value, -1); }

 private:
  void count(graph::ValueId id, int by) {
    const graph::Value& value = module_.value(id);
    if (value.kind != graph::ValueKind::Weight) return;
    if ((left_[id] += by) == 0) sources_.release(id);
    for (const graph::ValueId part : value.weight.parts) count(part, by);
  }

  const graph::Module& module_;
  const WeightSources& sources_;
  std::map<graph::ValueId, int> left_;
};

/// Fills one weight after another, each on all threads.
struct Filler {
  const graph::Module& module;
  const WeightLayout& layout;
  const WeightSources& sources;
  int threads;
  WeightTimes& times;
  MemoryBlock staging;  ///< dense elements of the weight that is being packed, where they cannot be
                        ///< read in place

  void plain(graph::ValueId id, void* out) {
    const graph::Value& value = module.value(id);
    if (value.kind == graph::ValueKind::Constant) return store_constant(value, out);
    const auto element_bytes = static_cast<std::int64_t>(size_of(value.type.dtype));
    const std::int64_t count = element_count(weight_shape(value));
    timed(sources.is_random(id) ? times.random : times.other, [&] {
      parallel_for(count, part_bytes / element_bytes, threads,
                   [&](std::int64_t first, std::int64_t last) {
                     sources.fill(id, first, last - first,
                                  static_cast<std::byte*>(out) + first * element_bytes);
                   });
    });
  }

  /// The weight's dense elements at an address that is aligned for them: the file's where it is,
  /// else a copy.
  const std::byte* aligned_elements(graph::ValueId id) {
    const graph::Value& value = module.value(id);
    const std::span<const std::byte> bytes = sources.file_bytes(id);
    if (!bytes.empty() &&
        reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(value.type.dtype) == 0)
      return bytes.data();
    staging.grow(plain_bytes(value), "weights");
    plain(id, staging.data());
    return staging.data();
  }

  /// The codes of a weight of blocks, as they are.
  void packed_codes(const PackedView& view, std::byte* out) {
    const std::vector<graph::ValueId>& parts = module.value(view.weight).weight.parts;
    const std::vector<float> scales = sources.floats(parts[1]);
    std::vector<std::uint8_t> zeros;
    if (parts.size() > 2) {
      zeros.resize(plain_bytes(module.value(parts[2])));
      sources.fill(parts[2], 0, static_cast<std::int64_t>(zeros.size()), zeros.data());
    }
    const rkernel::PackedLayout packed = layout.layout_of(view);
    const std::int64_t blocks = *module.value(parts[1]).type.dims.back().constant();
    const rkernel::CodedColumns columns{
        reinterpret_cast<const std::uint8_t*>(aligned_elements(parts[0])), scales.data(),
        zeros.empty() ? nullptr : zeros.data(), blocks * view.coding.block * view.coding.bits / 8,
        blocks};
    const std::int64_t panel_bytes = std::max(packed.bytes() / packed.panels(), std::int64_t{1});
    timed(times.other, [&] {
      parallel_for(packed.panels(), part_bytes / panel_bytes, threads,
                   [&](std::int64_t first, std::int64_t last) {
                     layout.target().pack_codes(packed, columns, first, last, out);
                   });
    });
  }

  void packed(const PackedView& view, std::byte* out) {
    const graph::Value& value = module.value(view.weight);
    if (view.is_of_codes) return packed_codes(view, out);
    if (!rkernel::converts(value.type.dtype, DType::f32) ||
        view.last_element() >= element_count(weight_shape(value))) {
      throw Error(ErrorKind::internal,
                  fmt::format("a packed operand reads beyond the end of weight '{}', or it is {}",
                              value.name, to_string(value.type)));
    }
    if (view.last_element() < 0)
      return;  // nothing but scales of columns without elements, which are 0 as fresh memory is
    const std::byte* const elements = aligned_elements(view.weight);
    const auto element_bytes = static_cast<std::int64_t>(size_of(value.type.dtype));
    const rkernel::PackedLayout packed = layout.layout_of(view);
    const std::int64_t panel_bytes = std::max(packed.bytes() / packed.panels(), std::int64_t{1});
    timed(times.other, [&] {
      for (std::int64_t batch = 0; batch < view.batch_count(); ++batch) {
        const rkernel::MatrixElements matrix{elements + view.batch_offset(batch) * element_bytes,
                                             value.type.dtype, view.k_stride, view.n_stride};
        std::byte* destination = out + batch * packed.bytes();
        parallel_for(packed.panels(), part_bytes / panel_bytes, threads,
                     [&](std::int64_t first, std::int64_t last) {
                       layout.target().pack(packed, matrix, first, last, destination);
                     });
      }
    });
  }
};

}  // namespace

Weights::Weights(WeightLayout layout) : layout_(std::move(layout)) {}

Weights::Weights(WeightLayout layout, const graph::Module& module, const WeightSources& sources,
                 int threads, WeightTimes& times, std::shared_ptr<Allocator> allocator)
    : layout_(std::move(layout)), block_(std::move(allocator)) {
  block_.grow(std::max(layout_.bytes(), weight_alignment), "weights");
  Filler filler{module, layout_, sources, threads, times, {}};
  Uses uses(module, layout_, sources);
  const auto begin = [&](std::size_t offset) {
    report_progress(
        {"weights", static_cast<std::int64_t>(offset), static_cast<std::int64_t>(layout_.bytes())});
  };
  for (const auto& [value, offset] : layout_.plain()) {
    begin(offset);
    filler.plain(value, block_.data() + offset);
    uses.done(value);
  }
  for (const auto& [view, offset] : layout_.packed()) {
    begin(offset);
    try {
      filler.packed(view, block_.data() + offset);
      uses.done(view.weight);
    } catch (const Error& error) {
      throw error.within(fmt::format("packing weight '{}' as {}", module.value(view.weight).name,
                                     name_of(view.dtype)));
    }
  }
}

Weights::Weights(WeightLayout layout, MappedWeights mapped)
    : layout_(std::move(layout)), mapped_(std::move(mapped)) {
  if (mapped_->bytes.size() != layout_.bytes())
    throw Error(ErrorKind::internal, "mapped weights are of another layout");
}

const std::byte* Weights::base() const noexcept {
  return mapped_ ? mapped_->bytes.data() : block_.data();
}

std::span<const std::byte> Weights::content() const noexcept {
  return base() == nullptr ? std::span<const std::byte>() : std::span(base(), layout_.bytes());
}

void* Weights::operand(const rkernel::Problem& problem, std::size_t operand) const {
  if (base() == nullptr) return nullptr;
  return const_cast<std::byte*>(base()) + layout_.offset_of(problem, operand);
}

const void* Weights::plain(graph::ValueId value) const {
  const std::optional<std::size_t> offset = layout_.offset_of(value);
  return offset ? base() + *offset : nullptr;
}

}  // namespace dyn::runtime
