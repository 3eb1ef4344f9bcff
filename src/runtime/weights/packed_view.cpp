#include "src/runtime/weights/packed_view.hpp"

#include <optional>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::runtime {

std::int64_t PackedView::batch_count() const {
  std::int64_t count = 1;
  for (const Batch& axis : batch) count *= axis.extent;
  return count;
}

std::int64_t PackedView::batch_offset(std::int64_t index) const {
  std::int64_t at = offset;
  for (auto axis = batch.rbegin(); axis != batch.rend(); ++axis) {
    at += index % axis->extent * axis->stride;
    index /= axis->extent;
  }
  return at;
}

std::int64_t PackedView::last_element() const {
  if (batch_count() == 0 || k == 0 || n == 0) return -1;
  std::int64_t last = offset + (k - 1) * k_stride + (n - 1) * n_stride;
  for (const Batch& axis : batch) last += (axis.extent - 1) * axis.stride;
  return last;
}

bool gathers_from(const rkernel::Operand& operand, const PackedView& view) {
  return operand.gathers && operand.form == rkernel::Form::Packed &&
         operand.buffer == view.weight && operand.dtype == view.dtype &&
         view.group == rkernel::Group::None && operand.gather_extent.constant() == view.n &&
         operand.gather_stride.constant() == view.k * operand.gather_panel && view.batch.empty() &&
         view.sides.empty();
}

namespace {

/// Those of the matrix that an operand is for its problem.
struct MatrixAxes {
  int k, n;
};

std::optional<MatrixAxes> matrix_axes(const rkernel::Problem& problem, int operand) {
  if (const auto& contraction = problem.contraction) {
    if (contraction->a == operand) return MatrixAxes{contraction->k, contraction->m};
    if (contraction->multiplies(operand)) return MatrixAxes{contraction->k, contraction->n};
  }
  if (const auto& recurrence = problem.recurrence; recurrence && recurrence->r == operand)
    return MatrixAxes{recurrence->k, recurrence->n};
  return std::nullopt;
}

}  // namespace

PackedView packed_view(const rkernel::Problem& problem, std::size_t operand) {
  const rkernel::Operand& source = problem.operands[operand];
  const auto constant = [&](graph::Dim dim) {
    const auto value = dim.constant();
    if (!value || *value < 0) {
      throw Error(ErrorKind::internal,
                  fmt::format("packed operand '{}' of '{}' has {} where a constant must be",
                              source.name, problem.name, to_string(dim)));
    }
    return *value;
  };
  const std::optional<MatrixAxes> axes = matrix_axes(problem, static_cast<int>(operand));
  if (!axes || source.gathers || !source.guards.empty()) {
    throw Error(ErrorKind::internal,
                fmt::format("operand '{}' of '{}' cannot be packed", source.name, problem.name));
  }
  PackedView view;
  view.weight = source.buffer;
  if (problem.contraction && !problem.contraction->others.empty()) {
    for (const int side : problem.contraction->right_sides()) {
      const rkernel::Operand& right_side = problem.operands[static_cast<std::size_t>(side)];
      if (static_cast<std::size_t>(side) == operand) view.side = view.sides.size();
      view.sides.push_back({right_side.buffer, constant(right_side.offset)});
    }
  }
  view.dtype = source.dtype;
  view.group = rkernel::group_of(problem);
  view.coding = source.coding;
  view.is_of_codes = source.coding && source.held_coding;
  view.sums = problem.recurrence ? view.group == rkernel::Group::Bytes
                                 : source.coding && problem.contraction->zero != 0;
  view.offset = constant(source.offset);
  for (std::size_t i = 0; i < problem.axes.size(); ++i) {
    const int axis = static_cast<int>(i);
    const std::int64_t stride = constant(source.strides[i]);
    if (axis == axes->k) {
      view.k = constant(problem.axes[i].extent);
      // K counts groups.
      if (const auto& contraction = problem.contraction)
        view.k = contraction->is_ragged() ? constant(contraction->depth)
                                          : view.k * rkernel::elements_of(view.group);
      view.k_stride = stride;
    } else if (axis == axes->n) {
      view.n = constant(problem.axes[i].extent);
      view.n_stride = stride;
    } else if (stride != 0) {
      view.batch.push_back({constant(problem.axes[i].extent), stride});
    }
  }
  return view;
}

}  // namespace dyn::runtime
