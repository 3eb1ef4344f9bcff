#include "src/rkernel/problem/parts.hpp"

#include <algorithm>
#include <iterator>

namespace dyn::rkernel {
namespace {

bool writes_what_is_touched(const Problem& writer, const Problem& other) {
  return std::ranges::any_of(writer.operands, [&](const Operand& operand) {
    return operand.written && std::ranges::find(other.operands, operand.buffer, &Operand::buffer) !=
                                  other.operands.end();
  });
}

graph::Dim points_of(const Problem& problem) {
  graph::Dim points = problem.axes.front().extent;
  for (std::size_t axis = 1; axis < problem.axes.size(); ++axis)
    points = points * problem.axes[axis].extent;
  return points;
}

}  // namespace

Problem part_of(const Problem& problem, std::size_t index) {
  const ProblemPart& part = problem.parts.at(index);
  Problem own;
  own.name = part.name;
  own.axes = part.axes;
  const auto first = problem.operands.begin() + static_cast<std::ptrdiff_t>(part.first_operand);
  own.operands.assign(first, first + static_cast<std::ptrdiff_t>(part.operand_count));
  own.exprs = part.exprs;
  own.stores = part.stores;
  own.lane_axis = part.lane_axis;
  return own;
}

Problem together(std::vector<Problem> problems) {
  Problem all;
  graph::Dim points;
  for (Problem& problem : problems) {
    all.name += (all.name.empty() ? "" : "+") + problem.name;
    points = points.valid() ? points + points_of(problem) : points_of(problem);
    all.parts.push_back({std::move(problem.name), std::move(problem.axes), std::move(problem.exprs),
                         std::move(problem.stores), problem.lane_axis, all.operands.size(),
                         problem.operands.size()});
    std::ranges::move(problem.operands, std::back_inserter(all.operands));
  }
  all.axes.push_back({"p", points, AxisKind::Parallel});
  return all;
}

bool depend(const Problem& a, const Problem& b) {
  return writes_what_is_touched(a, b) || writes_what_is_touched(b, a);
}

}  // namespace dyn::rkernel
