#include "src/runtime/weights/weight_layout.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"

namespace dyn::runtime {

std::size_t plain_bytes(const graph::Value& value) {
  return static_cast<std::size_t>(element_count(weight_shape(value))) * size_of(value.type.dtype);
}

WeightLayout::WeightLayout(const graph::Module& module,
                           const std::vector<rkernel::Problem>& problems,
                           std::span<const std::size_t> groups, const rkernel::Target& target)
    : target_(&target) {
  // All plain ones come first: they are filled first, and small ones would touch each page.
  for (const bool packed : {false, true}) {
    for (const std::size_t group : groups) {
      const rkernel::Problem& problem = problems[group];
      for (std::size_t i = 0; i < problem.operands.size(); ++i) {
        const rkernel::Operand& operand = problem.operands[i];
        const graph::ValueKind kind = module.value(operand.buffer).kind;
        if (kind != graph::ValueKind::Weight && kind != graph::ValueKind::Constant) continue;
        if ((operand.form == rkernel::Form::Packed) != packed) continue;
        if (packed && operand.gathers) continue;  // from panels that a contraction's operand has
        if (operand.form == rkernel::Form::Scales) continue;  // behind those panels
        if (packed) {
          place_packed(problem, i);
        } else {
          place_plain(module, operand.buffer);
        }
      }
    }
  }
}

WeightLayout::WeightLayout(const graph::Module& module) {
  for (std::size_t id = 0; id < module.values.size(); ++id) {
    if (module.values[id].kind == graph::ValueKind::Weight)
      place_plain(module, static_cast<graph::ValueId>(id));
  }
}

std::size_t WeightLayout::place(std::size_t bytes) {
  const std::size_t at = next_;
  if (bytes > (std::size_t{1} << 62) || at > (std::size_t{1} << 62))
    throw Error(ErrorKind::model, "the weights have more bytes than can be addressed");
  next_ += (bytes + weight_alignment - 1) / weight_alignment * weight_alignment;
  return at;
}

void WeightLayout::place_plain(const graph::Module& module, graph::ValueId value) {
  if (!plain_.contains(value)) plain_[value] = place(plain_bytes(module.value(value)));
}

// All sides whose panels take turns are placed when the first of them is met.
void WeightLayout::place_packed(const rkernel::Problem& problem, std::size_t operand) {
  const PackedView view = packed_view(problem, operand);
  if (packed_.contains(view)) return;
  const rkernel::PackedLayout layout = layout_of(view);
  const std::size_t at =
      place(static_cast<std::size_t>(layout.sides * layout.bytes() * view.batch_count()));
  if (view.sides.empty()) {
    packed_[view] = at;
    return;
  }
  for (const int right_side : problem.contraction->right_sides()) {
    const PackedView side = packed_view(problem, static_cast<std::size_t>(right_side));
    if (layout_of(side).panel_bytes() != layout.panel_bytes() || side.batch_count() != 1)
      throw Error(ErrorKind::internal,
                  fmt::format("the right sides of '{}' are packed differently", problem.name));
    packed_[side] = at + side.side * static_cast<std::size_t>(layout.panel_bytes());
  }
}

rkernel::PackedLayout WeightLayout::layout_of(const PackedView& view) const {
  rkernel::PackedLayout layout{.dtype = view.dtype,
                               .panel = target_->panel_width(view.dtype),
                               .k = view.k,
                               .n = view.n,
                               .group = view.group,
                               .sums = view.sums,
                               .coding = view.coding,
                               .sides = std::max(1, static_cast<int>(view.sides.size()))};
  if (view.group == rkernel::Group::None && view.sides.empty())
    layout.rows = target_->packed_rows(view.dtype, view.k, view.n);
  return layout;
}

std::string WeightLayout::describe(const graph::Module& module,
                                   const WeightSources& sources) const {
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
    } else if (value.weight.kind == graph::WeightSource::Kind::Blocks) {
      content = fmt::format("blocks of {} codes of {} bits in {}:", value.weight.block,
                            value.weight.bits, value.weight.parts.size());
    } else if (!value.weight.parts.empty()) {
      content =
          fmt::format("quantised {} {}:", static_cast<int>(value.weight.kind), value.weight.block);
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
    const rkernel::PackedLayout layout = layout_of(view);
    lines += fmt::format(" panels {} rows {} of {}{}{} ", layout.panel, layout.rows,
                         rkernel::elements_of(layout.group), layout.sums ? " with sums" : "",
                         layout.coding ? " as " + rkernel::Factors(layout.coding).name() : "");
    if (layout.sides > 1) lines += fmt::format("side {} of {} ", view.side + 1, layout.sides);
    add_source(add_source, view.weight);
  }
  return lines;
}

std::size_t WeightLayout::panels_of(const rkernel::Operand& gathering) const {
  for (const auto& [view, offset] : packed_) {
    if (gathers_from(gathering, view)) return offset;
  }
  throw Error(
      ErrorKind::internal,
      fmt::format("operand '{}' gathers from panels that no contraction reads", gathering.name));
}

std::size_t WeightLayout::offset_of(const rkernel::Problem& problem, std::size_t operand) const {
  const rkernel::Operand& source = problem.operands[operand];
  switch (source.form) {
    case rkernel::Form::Strided: return plain_.at(source.buffer);
    case rkernel::Form::Packed:
      return source.gathers ? panels_of(source) : packed_.at(packed_view(problem, operand));
    case rkernel::Form::Scales: break;
  }
  const PackedView view =
      packed_view(problem, static_cast<std::size_t>(problem.contraction.value().b));
  return packed_.at(view) + static_cast<std::size_t>(layout_of(view).scales_offset_bytes());
}

std::optional<std::size_t> WeightLayout::offset_of(graph::ValueId value) const {
  const auto found = plain_.find(value);
  return found == plain_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace dyn::runtime
