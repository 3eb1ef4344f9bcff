#include "src/runtime/plan/in_place.hpp"

#include <algorithm>
#include <optional>

namespace dyn::runtime {
namespace {

/// The first and last problem that names each buffer.
struct Uses {
  std::map<graph::ValueId, std::size_t> first, last;
};

Uses uses_of(const std::vector<rkernel::Problem>& problems) {
  Uses uses;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    for (const rkernel::Operand& operand : problems[i].operands) {
      uses.first.emplace(operand.buffer, i);
      uses.last[operand.buffer] = i;
    }
  }
  return uses;
}

/// Whether both operands name the same element at every index of the problem, and leave none out.
bool same_elements(const rkernel::Operand& a, const rkernel::Operand& b) {
  return a.dtype == b.dtype && a.form == b.form && a.offset == b.offset && a.strides == b.strides &&
         a.guards.empty() && b.guards.empty() && !a.window && !b.window && !a.gathers && !b.gathers;
}

bool reads_once(const rkernel::Problem& problem, int operand) {
  const auto loads = std::ranges::count_if(
      problem.exprs, [&](const rkernel::Expr& expr) { return expr.operand == operand; });
  const graph::ValueId buffer = problem.operands[static_cast<std::size_t>(operand)].buffer;
  return loads == 1 &&
         std::ranges::count(problem.operands, buffer, &rkernel::Operand::buffer) == 1 &&
         operand != problem.contraction->a && operand != problem.contraction->b;
}

/// The written operand, where there is exactly one.
std::optional<int> only_output(const rkernel::Problem& problem) {
  if (!problem.contraction || problem.stores.size() != 1) return std::nullopt;
  if (std::ranges::count_if(problem.operands, &rkernel::Operand::written) != 1) return std::nullopt;
  return problem.stores.front().operand;
}

}  // namespace

std::map<graph::ValueId, graph::ValueId> results_in_place(
    const graph::Module& module, const std::vector<rkernel::Problem>& problems,
    const std::set<graph::ValueId>& ports) {
  const Uses uses = uses_of(problems);
  const auto is_ours = [&](graph::ValueId value) {
    return module.value(value).kind == graph::ValueKind::Result && !ports.contains(value);
  };
  const auto dims = [&](graph::ValueId value) { return module.value(value).type.dims; };
  std::map<graph::ValueId, graph::ValueId> taken;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const rkernel::Problem& problem = problems[i];
    const std::optional<int> output = only_output(problem);
    if (!output) continue;
    const rkernel::Operand& written = problem.operands[static_cast<std::size_t>(*output)];
    if (!is_ours(written.buffer) || uses.first.at(written.buffer) != i) continue;
    for (int operand = 0; operand < static_cast<int>(problem.operands.size()); ++operand) {
      const rkernel::Operand& read = problem.operands[static_cast<std::size_t>(operand)];
      if (operand == *output || !is_ours(read.buffer) || uses.last.at(read.buffer) != i) continue;
      if (!same_elements(read, written) || !reads_once(problem, operand) ||
          dims(read.buffer) != dims(written.buffer))
        continue;
      taken.emplace(written.buffer, read.buffer);
      break;
    }
  }
  return taken;
}

}  // namespace dyn::runtime
