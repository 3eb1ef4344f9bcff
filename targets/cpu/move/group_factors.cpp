#include "targets/cpu/move/group_factors.hpp"

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "targets/cpu/move/narrow_weights.hpp"
#include "targets/cpu/tile/group_instructions.hpp"

namespace dyn::cpu {
namespace {

using rkernel::Group;
using rkernel::Operand;
using rkernel::Problem;

Group group_of(DType left) {
  switch (left) {
    case DType::u8: return Group::Bytes;
    case DType::i16: return Group::Shorts;
    case DType::bf16: return Group::Bfloats;
    default: return Group::None;
  }
}

DType packed_dtype(Group group) {
  switch (group) {
    case Group::Bytes: return DType::i8;
    case Group::Shorts: return DType::i16;
    default: return DType::bf16;
  }
}

void group_recurrence(Problem& problem, Group group) {
  Operand& r = problem.operands[static_cast<std::size_t>(problem.recurrence->r)];
  if (r.form != rkernel::Form::Packed)
    throw Error(ErrorKind::unsupported,
                fmt::format("a recurrent layer reads {} as i8; on a CPU that must be a weight of "
                            "known sizes",
                            r.name));
  problem.recurrence->group = group;
  r.dtype = packed_dtype(group);
}

class Grouper {
 public:
  Grouper(Problem& problem, Group group) : problem_(problem), group_(group) {}

  void run(const rkernel::Factors& weights, const codegen::Isa& isa) {
    rkernel::Contraction& contraction = *problem_.contraction;
    Operand& a = problem_.operands[static_cast<std::size_t>(contraction.a)];
    Operand& b = problem_.operands[static_cast<std::size_t>(contraction.b)];
    contraction.group = group_;
    const bool is_packed = b.form == rkernel::Form::Packed;
    if (is_packed && b.dtype == DType::f32) choose_codes(problem_, b, weights, isa);
    if (b.dtype == DType::f32 && (group_ != Group::Bfloats || !is_packed))
      fail("its right side is neither of i8 nor of codes");
    if (is_packed && !b.coding) b.dtype = packed_dtype(group_);
    if (!is_packed) count_steps(b.strides[static_cast<std::size_t>(contraction.k)]);
    graph::Dim& depth = problem_.axes[static_cast<std::size_t>(contraction.k)].extent;
    if (!a.window && !has_whole_groups(a, depth)) {
      if (a.strides[static_cast<std::size_t>(contraction.k)].constant() != 1)
        fail("its left side does not lie along k");
      contraction.depth = depth;
      const std::int64_t size = rkernel::elements_of(group_);
      depth = floordiv(depth + (size - 1), depth.table().constant(size));
      return;
    }
    count_groups(depth);
    count_groups(a.offset);
    for (std::size_t axis = 0; axis < a.strides.size(); ++axis) {
      if (axis != static_cast<std::size_t>(contraction.k)) {
        count_groups(a.strides[axis]);
      } else if (!a.window && a.strides[axis].constant() != 1) {
        fail("its left side does not lie along k");
      }
    }
    if (!a.window) return;
    if (a.window->channel_step.constant() != 1) fail("channels do not lie side by side");
    count_groups(a.window->channels);
    a.window->outside = repeated(a.window->outside);
    for (rkernel::WindowAxis& axis : a.window->axes) count_groups(axis.step);
  }

 private:
  /// A group of the same elements, as one i32.
  std::int64_t repeated(std::int64_t element) const {
    const int size = rkernel::elements_of(group_), bits = 32 / size;
    const auto one = static_cast<std::uint64_t>(element) & ((std::uint64_t{1} << bits) - 1);
    std::uint64_t all = 0;
    for (int i = 0; i < size; ++i) all |= one << (i * bits);
    return static_cast<std::int64_t>(all);
  }

  [[noreturn]] void fail(const char* why) const {
    throw Error(ErrorKind::internal,
                fmt::format("contraction {} has no groups: {}", problem_.name, why));
  }

  bool has_whole_groups(const Operand& a, graph::Dim depth) const {
    const std::int64_t size = rkernel::elements_of(group_);
    const auto is_whole = [&](graph::Dim dim) { return graph::prove_multiple(dim, size) == true; };
    for (std::size_t axis = 0; axis < a.strides.size(); ++axis)
      if (axis != static_cast<std::size_t>(problem_.contraction->k) && !is_whole(a.strides[axis]))
        return false;
    return is_whole(depth) && is_whole(a.offset);
  }

  /// A stride from one group to the next: all elements of a right side that is not packed lie
  /// where they are.
  void count_steps(graph::Dim& stride) const {
    stride = stride * stride.table().constant(rkernel::elements_of(group_));
  }

  void count_groups(graph::Dim& elements) const {
    const std::int64_t size = rkernel::elements_of(group_);
    const graph::Dim groups = floordiv(elements, elements.table().constant(size));
    if (graph::prove_equal(groups * size, elements) != true)
      fail("its left side does not consist of whole ones");
    elements = groups;
  }

  Problem& problem_;
  const Group group_;
};

}  // namespace

void group_factors(std::vector<Problem>& problems, const rkernel::Factors& weights,
                   const codegen::Isa& isa) {
  for (Problem& problem : problems) {
    if (problem.recurrence && problem.recurrence->scales >= 0)
      group_recurrence(problem, group_of(widest_integer_factor(isa)));
    if (!problem.contraction) continue;
    if (const Group group = group_of(rkernel::left_dtype(problem)); group != Group::None)
      Grouper(problem, group).run(weights, isa);
    if (problem.contraction->zero != 0) subtract_zeros(problem);
  }
}

}  // namespace dyn::cpu
