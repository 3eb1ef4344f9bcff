#include "src/runtime/weights/weights.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/base/clock.hpp"
#include "src/runtime/system/parallel_for.hpp"

namespace dyn::runtime {
namespace {

constexpr std::size_t weight_alignment = 64;
/// Work of one part of a parallel loop: long against the cost of handing it out, short against a
/// weight.
constexpr std::int64_t part_bytes = std::int64_t{256} << 10;

std::size_t plain_bytes(const graph::Value& value) {
  return static_cast<std::size_t>(element_count(weight_shape(value))) * size_of(value.type.dtype);
}

rkernel::PackedLayout layout_of(const rkernel::Target& target, const PackedView& view) {
  return {view.dtype, target.panel_width(view.dtype), view.k, view.n,
          target.packed_rows(view.dtype, view.k, view.n)};
}

/// Runs `body` and adds its time to `sum`.
void timed(double& sum, const std::function<void()>& body) {
  const Clock::time_point start = Clock::now();
  body();
  sum += seconds_since(start);
}

}  // namespace

/// Fills one weight after another, each on all threads.
struct Weights::Filler {
  const graph::Module& module;
  const rkernel::Target* target;
  const WeightSources& sources;
  int threads;
  Times& times;
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

  void packed(const PackedView& view, std::byte* out) {
    const graph::Value& value = module.value(view.weight);
    if (value.type.dtype != DType::f32 ||
        view.last_element() >= element_count(weight_shape(value))) {
      throw Error(
          ErrorKind::internal,
          fmt::format("a packed operand of f32 reads beyond the end of weight '{}', or it is {}",
                      value.name, to_string(value.type)));
    }
    if (view.last_element() < 0)
      return;  // nothing but scales of columns without elements, which are 0 as fresh memory is
    const auto* source = reinterpret_cast<const float*>(aligned_elements(view.weight));
    const rkernel::PackedLayout layout = layout_of(*target, view);
    const std::int64_t panel_bytes = std::max(layout.bytes() / layout.panels(), std::int64_t{1});
    timed(times.other, [&] {
      for (std::int64_t batch = 0; batch < view.batch_count(); ++batch) {
        const float* matrix = source + view.batch_offset(batch);
        std::byte* destination = out + batch * layout.bytes();
        parallel_for(layout.panels(), part_bytes / panel_bytes, threads,
                     [&](std::int64_t first, std::int64_t last) {
                       target->pack(layout, matrix, view.k_stride, view.n_stride, first, last,
                                    destination);
                     });
      }
    });
  }
};

Weights::Weights(const graph::Module& module, const std::vector<rkernel::Problem>& problems,
                 std::span<const std::size_t> groups, const rkernel::Target& target)
    : target_(&target) {
  for (const std::size_t group : groups) {
    const rkernel::Problem& problem = problems[group];
    for (std::size_t i = 0; i < problem.operands.size(); ++i) {
      const rkernel::Operand& operand = problem.operands[i];
      const graph::ValueKind kind = module.value(operand.buffer).kind;
      if (kind != graph::ValueKind::Weight && kind != graph::ValueKind::Constant) continue;
      if (operand.form == rkernel::Form::Packed && operand.gathers)
        continue;  // from panels that a contraction's operand has
      if (operand.form == rkernel::Form::Scales) continue;  // behind those panels
      if (operand.form == rkernel::Form::Packed) {
        place_packed(target, packed_view(problem, i));
      } else {
        place_plain(module, operand.buffer);
      }
    }
  }
}

Weights::Weights(const graph::Module& module) {
  for (std::size_t id = 0; id < module.values.size(); ++id) {
    if (module.values[id].kind == graph::ValueKind::Weight)
      place_plain(module, static_cast<graph::ValueId>(id));
  }
}

std::size_t Weights::place(std::size_t bytes) {
  const std::size_t at = next_;
  if (bytes > (std::size_t{1} << 62) || at > (std::size_t{1} << 62))
    throw Error(ErrorKind::model, "the weights have more bytes than can be addressed");
  next_ += (bytes + weight_alignment - 1) / weight_alignment * weight_alignment;
  return at;
}

void Weights::place_plain(const graph::Module& module, graph::ValueId value) {
  if (!plain_.contains(value)) plain_[value] = place(plain_bytes(module.value(value)));
}

void Weights::place_packed(const rkernel::Target& target, const PackedView& view) {
  if (packed_.contains(view)) return;
  packed_[view] =
      place(static_cast<std::size_t>(layout_of(target, view).bytes() * view.batch_count()));
}

void Weights::load(const graph::Module& module, const WeightSources& sources, int threads,
                   Times& times) {
  block_ = MemoryBlock(std::max(next_, weight_alignment), "weights");
  Filler filler{module, target_, sources, threads, times, {}};
  for (const auto& [value, offset] : plain_) filler.plain(value, block_.data() + offset);
  for (const auto& [view, offset] : packed_) {
    try {
      filler.packed(view, block_.data() + offset);
    } catch (const Error& error) {
      throw error.within(fmt::format("packing weight '{}' as {}", module.value(view.weight).name,
                                     name_of(view.dtype)));
    }
  }
}

const std::byte* Weights::base() const noexcept {
  return mapped_ ? mapped_->bytes.data() : block_.data();
}

std::span<const std::byte> Weights::content() const noexcept {
  return base() == nullptr ? std::span<const std::byte>() : std::span(base(), next_);
}

void Weights::adopt(MappedWeights mapped) {
  if (mapped.bytes.size() != next_)
    throw Error(ErrorKind::internal, "mapped weights are of another layout");
  mapped_.emplace(std::move(mapped));
  block_ = MemoryBlock();
}

std::string Weights::layout(const graph::Module& module, const WeightSources& sources) const {
  std::string lines;
  const auto add_source = [&](const auto& self, graph::ValueId id) -> void {
    const graph::Value& value = module.value(id);
    std::string content;
    if (value.kind == graph::ValueKind::Constant) {
      std::array<unsigned char, sizeof(std::int64_t)> bytes{};
      store_constant(value, bytes.data());
      content = fmt::format("constant {:02x}", fmt::join(bytes, ""));
    } else if (value.weight.kind == graph::WeightSource::Kind::Splat) {
      content = fmt::format("splat {:a}", sources.splat(id));
    } else if (value.weight.kind == graph::WeightSource::Kind::Parts) {
      content = fmt::format("of {} parts:", value.weight.parts.size());
    } else {
      content = fmt::format("file key {} {}", value.name.size(), value.name);
    }
    lines += fmt::format("{} {}\n", to_string(value.type), content);
    for (const graph::ValueId part : value.weight.parts) self(self, part);
  };
  for (const auto& [value, offset] : plain_) {
    lines += fmt::format("{} plain ", offset);
    add_source(add_source, value);
  }
  for (const auto& [view, offset] : packed_) {
    lines +=
        fmt::format("{} packed {} k={} n={} from {} strides {} {}", offset, name_of(view.dtype),
                    view.k, view.n, view.offset, view.k_stride, view.n_stride);
    for (const PackedView::Batch& batch : view.batch)
      lines += fmt::format(" batch {} stride {}", batch.extent, batch.stride);
    const rkernel::PackedLayout layout = layout_of(*target_, view);
    lines += fmt::format(" panels {} rows {} ", layout.panel, layout.rows);
    add_source(add_source, view.weight);
  }
  return lines;
}

std::size_t Weights::panels_of(const rkernel::Operand& gathering) const {
  for (const auto& [view, offset] : packed_) {
    if (gathers_from(gathering, view)) return offset;
  }
  throw Error(
      ErrorKind::internal,
      fmt::format("operand '{}' gathers from panels that no contraction reads", gathering.name));
}

std::size_t Weights::offset_of(const rkernel::Problem& problem, std::size_t operand) const {
  const rkernel::Operand& source = problem.operands[operand];
  switch (source.form) {
    case rkernel::Form::Strided: return plain_.at(source.buffer);
    case rkernel::Form::Packed:
      return source.gathers ? panels_of(source) : packed_.at(packed_view(problem, operand));
    case rkernel::Form::Scales: break;
  }
  const PackedView view =
      packed_view(problem, static_cast<std::size_t>(problem.contraction.value().b));
  return packed_.at(view) +
         static_cast<std::size_t>(layout_of(*target_, view).scales_offset_bytes());
}

void* Weights::operand(const rkernel::Problem& problem, std::size_t operand) const {
  if (base() == nullptr) return nullptr;
  return const_cast<std::byte*>(base()) + offset_of(problem, operand);
}

const void* Weights::plain(graph::ValueId value) const {
  const auto found = plain_.find(value);
  return found == plain_.end() ? nullptr : base() + found->second;
}

}  // namespace dyn::runtime
