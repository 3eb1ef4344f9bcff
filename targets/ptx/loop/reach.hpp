#pragma once
// How far indices and addresses of a loop problem reach: whether 31 bits hold them, and whether
// vectors are aligned.

#include <span>
#include <vector>

#include "targets/ptx/loop/class.hpp"

namespace dyn::ptx {

/// 31 bits hold every index, the number of points, every distance within an operand, and every sum
/// that a guard bounds. The first: for all sizes that the problem's dims may have.
bool is_always_narrow(const LoopProblem& problem);
bool is_narrow(const LoopProblem& problem, std::span<const std::int64_t> ints);

/// The class that vectors along the lane axis need of an operand; Any: there are none.
codegen::StrideClass class_in_vectors(const rkernel::Problem& problem,
                                      const rkernel::Operand& operand);

/// Vectors along the lane axis may compute the problem: no index of a gather varies along it,
/// values that do are not stored to one place, and lanes would read no table at places of their
/// own, for which device IR has no instruction.
bool may_have_lanes(const LoopProblem& loop, std::span<const codegen::StrideClass> lane_classes);

/// Elements of at most 16 bytes, where the widest operand has so many bytes an element.
int elements_of_vector(std::size_t widest);

/// Elements along the lane axis that make at most 16 bytes of each operand; 1: the problem's
/// operands do not lie so that vectors could be loaded and stored. `lane_classes`: those that
/// vectors need.
int vector_width(const LoopProblem& problem, std::vector<codegen::StrideClass>& lane_classes);

/// True where vectors of so many elements are aligned to their size: in every launch, in this one.
bool are_always_aligned(const LoopProblem& problem,
                        std::span<const codegen::StrideClass> lane_classes, int width);
bool are_aligned(const LoopProblem& problem, std::span<const codegen::StrideClass> lane_classes,
                 int width, std::span<const std::int64_t> ints);

}  // namespace dyn::ptx
