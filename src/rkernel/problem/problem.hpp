#pragma once
// A problem describes what one group computes: axes, strided operands, scalar expressions and
// stores. It knows no machine. Every target generates code from this and from nothing else.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/coord.hpp"
#include "graph/ir/module.hpp"
#include "graph/ops/recurrence.hpp"
#include "src/rkernel/expr/expr.hpp"
#include "src/rkernel/problem/factors.hpp"

namespace dyn::rkernel {

enum class AxisKind : std::uint8_t { Parallel, Reduction };

struct Axis {
  std::string name;
  graph::Dim extent;
  AxisKind kind = AxisKind::Parallel;
};

/// The element exists only where low <= sum of index * factor < high; a Load elsewhere gives the
/// operand's `fill`, a Store does nothing, and neither touches memory. Terms are sorted by axis.
struct Guard {
  std::vector<graph::CoordTerm> terms;
  graph::Dim low, high;

  /// The axis, where the guard is a range of one axis' index alone.
  std::optional<int> range_axis() const;
  bool operator==(const Guard&) const = default;
};
/// low <= index along `axis` < high.
Guard range_of(int axis, graph::Dim low, graph::Dim high);

/// The layout of a contraction's constant operands: as in the file, or packed in panels of the
/// target's width. An operand that gathers may be Packed where all contractions that read its
/// buffer have it packed, in one view: it reads the same panels, and its offset and strides are
/// theirs. Scales: those of the packed right side of the problem's contraction, one f32 for each
/// column (PackedLayout).
enum class Form : std::uint8_t { Strided, Packed, Scales };

/// A part of an axis of the problem: windows that slide along one axis of a tensor, or, of size 1,
/// that axis itself.
struct WindowAxis {
  int axis;          ///< axis of the problem; parts of one axis stand in row-major order
  graph::Dim count;  ///< number of windows
  graph::Dim size, stride, dilation;
  graph::Dim before;  ///< window i begins at i * stride - before
  graph::Dim extent;  ///< extent of the tensor's axis: beyond lies WindowRows::outside
  graph::Dim step;    ///< elements from one index of the tensor's axis to the next
};

/// The left side of a contraction whose rows are windows. Its k is (taps of each axis...,
/// channels), in row-major order.
struct WindowRows {
  std::vector<WindowAxis> axes;  ///< outermost first; parts of m, and of some batch axes
  graph::Dim channels, channel_step;
  std::int64_t outside = 0;  ///< an element outside of the tensor, where elements are integers;
                             ///< with a group the i32 that holds one of such
};

/// True where the taps of the last axis and the channels are one run of contiguous elements, as far
/// as the axis goes.
bool is_run(const WindowRows& rows);

/// The length of a contiguous segment, the channels of a tap or of a run, where it is short and the
/// same in all shapes, so that code is generated for it; else 0.
std::int64_t short_segment(const WindowRows& rows);

/// True where a block of m may copy the rows of the tensor that contain its windows, instead of the
/// windows, and read one window after the other there: windows slide along the last two axes, their
/// taps overlap or touch, and a row of taps is one run.
bool lie_in_strips(const WindowRows& rows, int m);

/// A strided window on a buffer. Address of the element at the current indices, in elements of
/// `dtype`: offset + sum over axes of index * strides[axis] (+ gathered index * gather_stride). f16
/// and bf16 exist in memory alone: a Load widens such an element to f32, a Store of an f32 rounds
/// to nearest, ties to even (too large: infinity; NaN stays NaN).
struct Operand {
  std::string name;
  DType dtype = DType::f32;
  DType held = DType::f32;  ///< f16 or bf16 of a constant f32 operand: a dtype that holds all its
                            ///< elements as they are
  Coding coding = {};       ///< of packed weights in blocks
  Coding held_coding = {};  ///< of a constant f32 operand whose elements lie so as they are, each
                            ///< block along the last axis of its buffer
  graph::ValueId buffer = graph::no_value;  ///< the base value whose memory this is
  bool written = false;
  Form form = Form::Strided;
  graph::Dim offset;
  std::vector<graph::Dim> strides;  ///< one for each axis of the problem; 0: does not vary along it
  std::optional<WindowRows> window;  ///< for a contraction's `a`: adds to offset and strides, which
                                     ///< are 0 along k and the axes of the windows
  std::vector<Guard> guards;
  double fill = 0;
  bool absent_outside = false;  ///< for a convolution: fill stands for 0, and so is a product with
                                ///< it, whatever the other factor
  /// Loads through an index expression: its value v must be in [-gather_extent, gather_extent)
  /// (negative counts from the end), else the kernel reports Status::IndexOutOfRange; adds (v /
  /// gather_panel) * gather_stride + v % gather_panel.
  bool gathers = false;
  graph::Dim gather_extent, gather_stride;
  std::int64_t gather_panel =
      1;  ///< a power of two: so many indices share a panel; 1: indices are gather_stride apart
};

/// One element written: exprs[expr] to operands[operand]. Where the operand's strides along all
/// reduction axes are 0 the value must not vary along them, and is stored once.
struct Store {
  int expr;
  int operand;
};

/// accumulator(..., m, n) = sum over k of operands[a](..., m, k) * operands[b](..., k, n). `batch`
/// axes come first, then m, n, k in `axes`. Expressions may use Accumulator, and see all axes but
/// k. Accumulator number i > 0 is the same with operands[others[i - 1]] instead of operands[b].
/// With a group, an index along k is one group: the offset and the strides of operands[a] count
/// groups, and operands[b] is packed in groups (PackedLayout).
struct Contraction {
  int a = 0, b = 1;         ///< operands
  int m = 0, n = 0, k = 0;  ///< axes
  Group group = Group::None;
  std::int64_t zero = 0;  ///< what stands for 0 in operands[a], where they are integers and
                          ///< operands[b] is f32
  /// With a group: elements along k, where they or the rows of operands[a] may be no whole groups.
  /// Then the operand's strides count its elements; else, as the axis does, groups.
  graph::Dim depth = {};
  /// Expressions of the elements of a and b; -1: those of operands[a] and operands[b]. A factor
  /// that is computed has no group, its operand is one that its expression loads, and b is not
  /// packed. Where rows of a are windows, a_value is that of an element of the tensor: the load of
  /// operands[a] gives the element, and an index along k counts channels for other operands. What
  /// lies outside of the tensor stays WindowRows::outside.
  int a_value = -1, b_value = -1;
  std::vector<int> others = {};  ///< operands: more constant right sides, which lie as b does;
                                 ///< none with a group

  bool is_ragged() const { return depth.valid(); }
  /// b and others.
  std::vector<int> right_sides() const;
  bool multiplies(int operand) const {
    return operand == a || operand == b || std::ranges::find(others, operand) != others.end();
  }
};

/// accumulator(..., m, n) = sum over keys of share(..., m, key) * operands[v](..., key, n), where
/// the shares of a row are the softmax over keys of scale * sum over d of operands[q](..., m, d) *
/// operands[k](..., key, d), plus operands[mask](..., m, key). A row whose scores are all -inf
/// gives 0. `batch` axes come first, then m, n, keys, d in `axes`. Expressions may use Accumulator,
/// and see batch, m and n.
struct Attention {
  int q = 0, k = 1, v = 2, mask = -1;  ///< operands; mask -1: none
  /// Operands: what each key's row of k and v is multiplied by; -1: 1.
  int k_scales = -1, v_scales = -1;
  int m = 0, n = 0, keys = 0, d = 0;  ///< axes
  double scale = 0;                   ///< 0: 1 / sqrt(extent of d)
  bool causal = false;  ///< row m sees only keys <= m + (extent of keys - extent of m)
};

enum class CellKind : std::uint8_t { Lstm, Gru, Rnn };

/// How many gates a cell has.
constexpr int gates_of(CellKind kind) noexcept {
  switch (kind) {
    case CellKind::Lstm: return 4;
    case CellKind::Gru: return 3;
    case CellKind::Rnn: break;
  }
  return 1;
}

/// What a cell computes from its gates and its state: the operator's attributes (docs/ir.md).
struct Cell {
  CellKind kind = CellKind::Lstm;
  graph::Activation f, g, h;
  double clip = 0;  ///< 0: none
  bool input_forget = false, linear_before_reset = false;
};

/// The steps of a recurrent layer. For each direction and row of the batch: state(0, n) =
/// operands[h](n), and in each step the state becomes the cell's function of the gates
/// operands[gates](t, g, n) + operands[bias](g, n) + sum over k of state(k) * operands[r](k, g, n),
/// where each sum is multiplied by operands[scales](g, n) if there are scales.
/// A row whose length is L runs through t = 0 ... L - 1, or backwards, and has zeros in
/// operands[y](t, n) from L on. `d` is the axis of directions, `b` of the batch, `g` of gates, as
/// many as the cell has, `n` and `k` of the state, `t` of steps. There are no expressions.
struct Recurrence {
  Cell cell;
  bool reversed = false;  ///< direction 0; direction 1 always is
  int gates = 0, r = 1;   ///< operands
  int bias = -1, lengths = -1, h = -1, c = -1,
      peepholes = -1;         ///< -1: zeros; of lengths: all steps
  int scales = -1;            ///< of r's columns, where r is i8: then states are quantised
  Group group = Group::None;  ///< of quantised states and weights; the target sets it
  int y = -1, last_h = -1, last_c = -1;          ///< written; last_c by an lstm
  int d = 0, b = 1, g = 2, n = 3, t = 4, k = 5;  ///< axes
};

/// A whole tensor that a HostCall takes or makes.
struct HostPart {
  int operand = -1;  ///< -1: a literal
  DType dtype = DType::f32;
  std::vector<graph::Dim> dims;
  graph::Dim offset;                ///< in elements
  std::vector<graph::Dim> strides;  ///< one for each of `dims`
  std::int64_t literal = 0;         ///< the bits of the element
};

/// A node that no expressions describe: a function of the host computes it, or a kernel that a
/// device has for the operator.
struct HostCall {
  graph::Node node;
  std::vector<HostPart> inputs, outputs;
};

/// One of several problems that a kernel computes side by side: loops that do not read what the
/// others write. Its operands are `operand_count` of the whole problem's, from `first_operand` on,
/// and its expressions and stores count from there.
struct ProblemPart {
  std::string name;
  std::vector<Axis> axes;
  std::vector<Expr> exprs;
  std::vector<Store> stores;
  int lane_axis = 0;
  std::size_t first_operand = 0, operand_count = 0;
};

struct Problem {
  std::string name;        ///< of the group
  std::vector<Axis> axes;  ///< outermost first; Parallel axes before Reduction axes
  std::vector<Operand> operands;
  std::vector<Expr> exprs;
  std::vector<Store> stores;
  std::optional<Contraction> contraction;
  std::optional<Attention> attention;
  std::optional<Recurrence> recurrence;
  /// With parts there are neither expressions nor stores beside theirs, and one axis counts the
  /// points of all (src/rkernel/problem/parts.hpp).
  std::vector<ProblemPart> parts = {};
  std::optional<HostCall>
      host;  ///< then there are no expressions and stores, and operands name memory alone
  /// The axis that runs along vector lanes (contraction, attention, recurrence: n). May be a
  /// reduction axis.
  int lane_axis = 0;

  bool has_reduction() const;
};

/// The axes but m, n and k of its contraction, outermost first.
std::vector<int> batch_axes(const Problem& problem);

/// The group that its contraction or recurrence multiplies at once.
Group group_of(const Problem& problem);

/// Of the elements of its contraction's left side; what is computed is f32.
DType left_dtype(const Problem& problem);

/// Those of its contraction or recurrence: the group's, or the dtype of its right side.
Factors factors_of(const Problem& problem);

/// Readable text of a problem, for `inspect`, golden tests and messages.
std::string to_string(const Problem& problem);

}  // namespace dyn::rkernel
