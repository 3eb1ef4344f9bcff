#include "targets/cpu/move/gather_panels.hpp"

#include <compare>
#include <map>
#include <optional>

namespace dyn::cpu {
namespace {

using rkernel::Form;
using rkernel::Operand;
using rkernel::Problem;

/// Element (k, n) of a packed operand lies at k * k_stride + n * n_stride of the weight.
struct View {
  std::int64_t k, n, k_stride, n_stride;
  auto operator<=>(const View&) const = default;
};

/// The view of a right side of a contraction without offset and batch axes.
std::optional<View> packed_view(const Problem& problem, const Operand& b) {
  const rkernel::Contraction& contraction = *problem.contraction;
  const auto k = static_cast<std::size_t>(contraction.k),
             n = static_cast<std::size_t>(contraction.n);
  const auto depth = problem.axes[k].extent.constant(), columns = problem.axes[n].extent.constant();
  const auto k_stride = b.strides[k].constant(), n_stride = b.strides[n].constant();
  if (!depth || !columns || !k_stride || !n_stride || b.offset.constant() != 0) return std::nullopt;
  return View{*depth, *columns, *k_stride, *n_stride};
}

/// The one axis along which rows that are gathered vary; nothing where there are several.
std::optional<std::size_t> row_axis(const Operand& operand) {
  std::optional<std::size_t> found;
  for (std::size_t axis = 0; axis < operand.strides.size(); ++axis) {
    if (operand.strides[axis].constant() == 0) continue;
    if (found) return std::nullopt;
    found = axis;
  }
  return found;
}

bool reads_columns(const Problem& problem, const Operand& operand, const View& view) {
  const std::optional<std::size_t> axis = row_axis(operand);
  return operand.gathers && !operand.written && operand.guards.empty() &&
         operand.dtype == DType::f32 && axis && problem.axes[*axis].extent.constant() == view.k &&
         operand.strides[*axis].constant() == view.k_stride &&
         operand.gather_extent.constant() == view.n &&
         operand.gather_stride.constant() == view.n_stride && operand.offset.constant() == 0;
}

/// For each buffer that contractions read packed, their view; nothing where there are several, or
/// where a reader cannot use panels.
std::map<graph::ValueId, std::optional<View>> common_views(const std::vector<Problem>& problems) {
  std::map<graph::ValueId, std::optional<View>> views;
  for (const Problem& problem : problems) {
    if (!problem.contraction) continue;
    for (const int right_side : problem.contraction->right_sides()) {
      const Operand& b = problem.operands[static_cast<std::size_t>(right_side)];
      if (b.form != Form::Packed) continue;
      std::optional<View> view = packed_view(problem, b);
      // Panels that take turns with others are no matrix.
      if (!problem.contraction->others.empty()) view.reset();
      const auto [known, is_new] = views.emplace(b.buffer, view);
      if (!is_new && known->second != view) known->second.reset();
    }
  }
  for (const Problem& problem : problems) {
    for (const Operand& operand : problem.operands) {
      const auto known = views.find(operand.buffer);
      if (operand.form == Form::Packed || known == views.end() || !known->second) continue;
      if (!reads_columns(problem, operand, *known->second)) known->second.reset();
    }
  }
  return views;
}

}  // namespace

void gather_from_panels(std::vector<Problem>& problems, std::int64_t panel) {
  const std::map<graph::ValueId, std::optional<View>> views = common_views(problems);
  for (Problem& problem : problems) {
    for (Operand& operand : problem.operands) {
      const auto known = views.find(operand.buffer);
      if (operand.form == Form::Packed || known == views.end() || !known->second) continue;
      operand.strides[*row_axis(operand)] = problem.axes.front().extent.table().constant(panel);
      operand.gather_stride =
          problem.axes.front().extent.table().constant(known->second->k * panel);
      operand.gather_panel = panel;
      operand.form = Form::Packed;
    }
  }
}

}  // namespace dyn::cpu
