#pragma once
// Lowers one group to one problem, before its axes are merged.

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "graph/fusion/group.hpp"
#include "graph/ir/coord.hpp"
#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"
#include "src/rkernel/expr/expr_builder.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::rkernel {

/// Expressions are made from the stores backwards: value(v, coords) is the expression of tensor v's
/// element there.
class GroupLowering {
 public:
  GroupLowering(const graph::Module& module, const graph::Fusion& fusion,
                const graph::Group& group);
  Problem run();

 private:
  using Coords = graph::Coords;
  using Guards = std::vector<Guard>;

  void make_axes();
  void make_contraction();
  std::vector<int> products() const;
  int make_factor(const graph::Node& product, int input, const std::array<int, 2>& axes);
  void exchange_operands(std::size_t a, std::size_t b);
  void make_host_call();
  HostPart host_part(graph::ValueId id, bool written);
  void make_window_contraction(const graph::Node& node);
  Operand windowed_operand(const graph::Node& node, graph::ValueId image) const;
  int make_image(const graph::Node& node, graph::ValueId image, int k);
  void make_attention();
  void make_recurrence();
  bool is_part(graph::ValueId id) const;
  int copied_value();
  void store(graph::ValueId id, int expr, const std::vector<graph::Dim>& strides,
             graph::Dim offset);

  int value(graph::ValueId id, const Coords& coords, const Guards& guards);
  int value_of_root(graph::ValueId id, const Coords& coords, const Guards& guards);
  int value_anew(graph::ValueId id, const Coords& coords, const Guards& guards);
  int load(graph::ValueId id, const Coords& coords, const Guards& guards, double fill = 0,
           bool absent_outside = false);
  int find_operand(Operand operand);
  Operand operand_at(graph::ValueId id, const Coords& coords) const;

  int compute(const graph::Node& node, const Coords& coords, const Guards& guards);
  int elementwise(const graph::Node& node, const Coords& coords, const Guards& guards);
  int reduction(const graph::Node& node);
  int gather(const graph::Node& node, const Coords& coords, const Guards& guards);
  int concat(const graph::Node& node, const Coords& coords, const Guards& guards);
  int pad(const graph::Node& node, const Coords& coords, const Guards& guards);
  int windows(const graph::Node& node, const Coords& coords, const Guards& guards);
  int range(const graph::Node& node, const Coords& coords);

  /// i64: the value of an affine function of the axes.
  int coord_value(const graph::Coord& coord);
  /// The condition 0 <= coord < extent, added to `guards`.
  Guards with_guard(const Guards& guards, const graph::Coord& coord, graph::Dim extent) const;
  int constant_like(DType dtype, double value);
  bool in_group(graph::ValueId root) const;
  bool is_loaded(graph::ValueId id) const;  ///< else it is computed here, or a view of such
  const graph::Node& producer_of(graph::ValueId id) const {
    return module_.nodes[static_cast<std::size_t>(module_.value(id).producer)];
  }
  graph::ValueId root_of(graph::ValueId id) const;
  /// The dtype that computing uses; dtype_of: the dtype in memory.
  DType value_dtype(graph::ValueId id) const {
    return graph::is_half(dtype_of(id)) ? DType::f32 : dtype_of(id);
  }
  /// The number that stands for a value of `id`: rounded to what its 16 bits can hold.
  double rounded_as_held(graph::ValueId id, double number) const {
    return graph::is_half(dtype_of(id)) ? graph::rounded(dtype_of(id), number) : number;
  }
  /// The expression of a value of `id`, rounded as its dtype asks for.
  int rounded(int expr, graph::ValueId id);
  DType dtype_of(graph::ValueId id) const { return module_.value(id).type.dtype; }
  const std::vector<graph::Dim>& dims_of(graph::ValueId id) const {
    return module_.value(id).type.dims;
  }

  const graph::Module& module_;
  const graph::Fusion& fusion_;
  const graph::Group& group_;
  Problem problem_;
  ExprBuilder build_;
  std::set<int> members_;
  std::vector<int>
      axis_of_;  ///< axis of the problem for each of the group's; -1: of size 1, left out
  std::map<std::string, int> known_;
};

/// Merges adjacent axes that are one axis for every operand.
void merge_axes(Problem& problem);

/// Chooses the lanes' axis and makes it the last of its kind.
void choose_lane_axis(Problem& problem);

}  // namespace dyn::rkernel
