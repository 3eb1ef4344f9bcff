#include "targets/cpu/drafts.hpp"

#include <algorithm>
#include <utility>

#include "src/rkernel/target/narrowing.hpp"
#include "targets/cpu/move/gather_panels.hpp"
#include "targets/cpu/move/group_factors.hpp"
#include "targets/cpu/move/narrow_weights.hpp"
#include "targets/host/kernel.hpp"

namespace dyn::cpu {
namespace {

// A constant right side without batch axes is packed at load, and so are recurrence weights.
void mark_packed(std::vector<rkernel::Problem>& problems,
                 const std::function<bool(graph::ValueId)>& constant) {
  for (rkernel::Problem& problem : problems) {
    if (problem.recurrence) {
      rkernel::Operand& r = problem.operands[static_cast<std::size_t>(problem.recurrence->r)];
      if (constant(r.buffer) && has_packed_weights(problem)) r.form = rkernel::Form::Packed;
    }
    if (!problem.contraction) continue;
    const rkernel::Contraction& contraction = *problem.contraction;
    for (const int right_side : contraction.right_sides()) {
      rkernel::Operand& b = problem.operands[static_cast<std::size_t>(right_side)];
      bool shared = constant(b.buffer) && (right_side != contraction.b || contraction.b_value < 0);
      for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
        if (axis != contraction.n && axis != contraction.k &&
            b.strides[static_cast<std::size_t>(axis)].constant() != 0)
          shared = false;
      }
      if (shared) b.form = rkernel::Form::Packed;
    }
  }
}

// No step is ever taken along one row: any stride will do, and contractions of one row share the
// code of all others.
void give_single_rows_a_stride(std::vector<rkernel::Problem>& problems) {
  for (rkernel::Problem& problem : problems) {
    if (!problem.contraction) continue;
    const rkernel::Contraction& contraction = *problem.contraction;
    const auto m = static_cast<std::size_t>(contraction.m);
    rkernel::Operand& a = problem.operands[static_cast<std::size_t>(contraction.a)];
    if (problem.axes[m].extent.constant() == 1 && a.strides[m].constant() == 0 && !a.window)
      a.strides[m] = contraction.is_ragged()
                         ? contraction.depth
                         : problem.axes[static_cast<std::size_t>(contraction.k)].extent;
  }
}

/// Appends the sources of a draft that has any.
template <class Draft>
void append_sources(const Draft& draft, std::vector<codegen::KernelSource>& sources) {
  if constexpr (requires { draft.sources(); }) {
    const std::vector<codegen::KernelSource> own = draft.sources();
    sources.insert(sources.end(), own.begin(), own.end());
  }
}

}  // namespace

void choose_forms(std::vector<rkernel::Problem>& problems,
                  const std::function<bool(graph::ValueId)>& constant, const codegen::Isa& isa,
                  const rkernel::Factors& weights) {
  mark_packed(problems, constant);
  group_factors(problems, weights, isa);
  give_single_rows_a_stride(problems);
  gather_from_panels(problems, isa.panel_f32);
  narrow_weights(problems, weights, isa);
}

namespace {

/// True where a kernel makes integers of numbers, which may be counts or places.
bool counts(const rkernel::Problem& problem) {
  return std::ranges::any_of(problem.exprs, [&](const rkernel::Expr& expr) {
    return expr.op == rkernel::ExprOp::Cast && !is_float(expr.dtype) &&
           size_of(expr.dtype) >= sizeof(std::int32_t) &&
           is_float(problem.exprs[static_cast<std::size_t>(expr.args[0])].dtype);
  });
}

/// Main loops take the left side as it is computed, and attention its masks; keys and values may be
/// narrow where each lies in one run. Masks and the like, which products do not leave, may hold
/// numbers that bf16 has not, and so may sums of rows, which are few.
bool takes_bfloats(const rkernel::Problem& problem, int index) {
  if (problem.host || problem.recurrence || counts(problem)) return false;
  const rkernel::Operand& operand = problem.operands[static_cast<std::size_t>(index)];
  if (operand.written)
    return (problem.contraction || problem.attention || problem.has_reduction()) &&
           operand.strides[static_cast<std::size_t>(problem.lane_axis)].constant() != 0;
  if (problem.contraction) return !problem.contraction->multiplies(index);
  if (!problem.attention) return true;
  const rkernel::Attention& attention = *problem.attention;
  const auto is_run_along = [&](int axis) {
    return operand.strides[static_cast<std::size_t>(axis)].constant() == 1;
  };
  if (index == attention.k) return is_run_along(attention.d);
  return index == attention.v ? is_run_along(attention.n)
                              : index != attention.mask && index != attention.k_scales &&
                                    index != attention.v_scales;
}

}  // namespace

void narrow_tensors(std::vector<rkernel::Problem>& problems, const rkernel::BufferFacts& buffers) {
  const auto takes = [&](std::size_t problem, int index) {
    const graph::ValueId buffer =
        problems[problem].operands[static_cast<std::size_t>(index)].buffer;
    return !buffers.constant(buffer) && takes_bfloats(problems[problem], index);
  };
  rkernel::narrow_buffers(problems, takes, buffers, DType::bf16);
}

KernelDrafts::KernelDrafts(std::span<const rkernel::Problem> problems,
                           const KernelContext& context) {
  for (const rkernel::Problem& problem : problems) drafts_.push_back(draft_of(problem, context));
  for (const Draft& draft : drafts_) {
    std::visit([&](const auto& one) { append_sources(one, sources_); }, draft);
    ends_.push_back(sources_.size());
  }
}

KernelDrafts::Draft KernelDrafts::draft_of(const rkernel::Problem& problem,
                                           const KernelContext& context) {
  const choice::Machine& machine = *context.machine;
  if (problem.host)
    return host::make_kernel(problem, machine.bandwidth_per_thread(machine.levels.size() - 1, 1));
  if (problem.recurrence) return RecurrenceKernel::draft(problem, context.isa, context.machine);
  if (problem.attention)
    return AttentionKernel::draft(problem, context.contractions, context.attention);
  if (problem.contraction)
    return ContractionKernel::draft(problem, context.contractions, context.constant_level);
  return LoopKernel::draft(problem, context.isa, context.machine);
}

std::vector<std::unique_ptr<rkernel::Kernel>> KernelDrafts::with_code(
    std::span<void* const> addresses) && {
  std::vector<std::unique_ptr<rkernel::Kernel>> kernels;
  auto next = addresses.begin();
  for (std::size_t i = 0; i < drafts_.size(); ++i) {
    const auto end = addresses.begin() + static_cast<std::ptrdiff_t>(ends_[i]);
    const auto finish = [&](auto&& one) -> std::unique_ptr<rkernel::Kernel> {
      if constexpr (requires { one.sources(); })
        return std::move(one).with_code({next, end});
      else
        return std::move(one);
    };
    kernels.push_back(std::visit(finish, std::move(drafts_[i])));
    next = end;
  }
  drafts_.clear();
  return kernels;
}

}  // namespace dyn::cpu
