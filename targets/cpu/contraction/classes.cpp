#include "targets/cpu/contraction/classes.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "src/choice/cost/rest_columns.hpp"
#include "targets/cpu/move/computed_factor.hpp"
#include "targets/cpu/move/pack.hpp"
#include "targets/cpu/tile/dot_loop.hpp"
#include "targets/cpu/tile/matrix_loop.hpp"
#include "targets/llvm/problem/instruction_counts.hpp"

namespace dyn::cpu {
namespace {

constexpr std::size_t most_contraction_classes = 32;

// Groups and codes: several steps of K lie side by side in each column of B.
bool lies_in_words(const rkernel::Problem& problem) {
  const rkernel::Factors factors = rkernel::factors_of(problem);
  return factors.grouped() || factors.coded();
}

bool may_be_unit(graph::Dim stride) {
  const auto classes = codegen::possible_classes(stride);
  return std::find(classes.begin(), classes.end(), codegen::StrideClass::Unit) != classes.end();
}
bool must_be_unit(graph::Dim stride) {
  return may_be_unit(stride) && codegen::possible_classes(stride).size() == 1;
}

// True where tiles may read B where it is: neither packed at load nor always copied.
bool is_read_as_it_lies(const rkernel::Problem& problem) {
  return problem.contraction->group == rkernel::Group::None && problem.contraction->b_value < 0 &&
         problem.operands[static_cast<std::size_t>(problem.contraction->b)].form !=
             rkernel::Form::Packed;
}

// One class for each value that an undecided predicate may have; all undecided strides Any where
// that would be too many.
std::vector<ContractionClass> enumerate_contraction_classes(const rkernel::Problem& problem) {
  using codegen::StrideClass;
  const rkernel::Contraction& contraction = *problem.contraction;
  std::vector<std::vector<StrideClass>> options;
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    const bool factor = contraction.multiplies(static_cast<int>(i));
    options.push_back(
        factor ? std::vector{StrideClass::Any}
               : codegen::possible_classes(
                     problem.operands[i].strides[static_cast<std::size_t>(problem.lane_axis)]));
    combinations *= options.back().size();
  }
  std::vector<ContractionClass> classes(1);
  for (auto& option : options) {
    if (combinations > most_contraction_classes && option.size() > 1) option = {StrideClass::Any};
    std::vector<ContractionClass> extended;
    for (const ContractionClass& known : classes) {
      for (const StrideClass stride_class : option) {
        extended.push_back(known);
        extended.back().lanes.push_back(stride_class);
      }
    }
    classes = std::move(extended);
  }
  const auto& a = problem.operands[static_cast<std::size_t>(contraction.a)];
  const auto& b = problem.operands[static_cast<std::size_t>(contraction.b)];
  const graph::Dim a_stride = a.strides[static_cast<std::size_t>(contraction.k)];
  const graph::Dim b_stride = b.strides[static_cast<std::size_t>(contraction.n)];
  std::vector<ContractionClass> all;
  for (const ContractionClass& known : classes) {
    for (const bool a_unit : {true, false}) {
      for (const bool b_unit : {true, false}) {
        if (a.form == rkernel::Form::Packed || contraction.a_value >= 0 ? a_unit
            : a_unit                                                    ? !may_be_unit(a_stride)
                                                                        : must_be_unit(a_stride))
          continue;
        if (!is_read_as_it_lies(problem) ? b_unit
            : b_unit                     ? !may_be_unit(b_stride)
                                         : must_be_unit(b_stride))
          continue;
        all.push_back(known);
        all.back().a_unit = a_unit;
        all.back().b_unit = b_unit;
      }
    }
  }
  return all;
}

// Vector instructions of an epilogue, for one vector of outputs.
double operations_of(const rkernel::Problem& problem, const codegen::Isa& isa,
                     const ContractionClass& shape_class) {
  double operations = choice::default_calibration().store_operations;
  std::vector<int> roots;
  for (const rkernel::Store& store : problem.stores) roots.push_back(store.expr);
  const std::vector<bool> reached = rkernel::reached_exprs(problem.exprs, roots);
  for (std::size_t i = 0; i < problem.exprs.size(); ++i) {
    if (!reached[i]) continue;
    const rkernel::Expr& expr = problem.exprs[i];
    const auto lane_class = expr.operand < 0
                                ? codegen::StrideClass::Unit
                                : shape_class.lanes[static_cast<std::size_t>(expr.operand)];
    const bool is_one = expr.op == rkernel::ExprOp::RoundBf16 && isa.rounds_bfloats;
    operations += is_one ? 1 : codegen::instructions_of(problem, expr, lane_class);
  }
  return operations;
}

// The share of the columns that an operand has, as it is stored in several.
double share_of_columns(const rkernel::Problem& problem, const rkernel::Operand& operand) {
  const auto all = problem.axes[static_cast<std::size_t>(problem.contraction->n)].extent.constant();
  if (operand.guards.size() != 1 || operand.guards[0].range_axis() != problem.contraction->n)
    return 1;
  const auto own = (operand.guards[0].high - operand.guards[0].low).constant();
  return own && all && *all > 0 ? static_cast<double>(*own) / static_cast<double>(*all) : 1;
}

// Bytes of operands that vary along both output axes, for each output element.
double dense_bytes(const rkernel::Problem& problem) {
  double bytes = 0;
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    if (is_dense(problem, static_cast<int>(i)))
      bytes += static_cast<double>(size_of(problem.operands[i].dtype)) *
               share_of_columns(problem, problem.operands[i]);
  }
  return bytes;
}

// a and b, m and n in each other's place; packed operands stay as they are.
rkernel::Problem with_sides_exchanged(rkernel::Problem problem) {
  std::swap(problem.contraction->a, problem.contraction->b);
  std::swap(problem.contraction->m, problem.contraction->n);
  return problem;
}

// B is copied by rows: its stride decides nothing.
std::vector<ContractionClass> dot_classes(const rkernel::Problem& problem) {
  std::vector<ContractionClass> classes = enumerate_contraction_classes(problem);
  // Both values of b_unit stand there, or one alone.
  const bool both = std::ranges::any_of(classes, &ContractionClass::b_unit) &&
                    !std::ranges::all_of(classes, &ContractionClass::b_unit);
  if (both) std::erase_if(classes, std::mem_fn(&ContractionClass::b_unit));
  for (ContractionClass& shape_class : classes) {
    shape_class.b_unit = false;
    shape_class.dot = true;
  }
  return classes;
}

// Where nothing but stores follows, the largest tile; else one that leaves registers to operands
// and constants of the epilogue.
int inlined_rows(const codegen::Isa& isa, double operations) {
  constexpr int registers_of_epilogue = 3;
  const int vectors = isa.panel_f32 / isa.f32_lanes;
  const int most =
      (isa.vector_registers - vectors - 1 -
       (operations > choice::default_calibration().store_operations ? registers_of_epilogue : 0)) /
      vectors;
  return std::ranges::count_if(main_loop_tiles(isa), [&](const Tile& tile) {
    return tile.columns == isa.panel_f32 && tile.rows <= most;
  });
}

// Tiles of `rows` rows and a whole panel, and of a last one with at most a vector of columns, as
// far as the output may have them.
std::vector<Tile> full_tiles(const rkernel::Problem& problem, const codegen::Isa& isa, int rows) {
  const std::optional<std::int64_t> n =
      problem.axes[static_cast<std::size_t>(problem.contraction->n)].extent.constant();
  std::vector<Tile> tiles;
  if (!n || *n >= isa.panel_f32 || (*n > isa.f32_lanes && isa.mask_registers))
    tiles.push_back({rows, isa.panel_f32});
  const std::int64_t rest = n ? *n % isa.panel_f32 : 1;
  if (rest > 0 && rest <= isa.f32_lanes) tiles.push_back({rows, isa.f32_lanes});
  return tiles;
}

// Strips pay for full tiles whatever the epilogue; else it must be one that fits beside the sums.
void add_full_tiles(const rkernel::Problem& problem, const codegen::Isa& isa,
                    ContractionClass& shape_class) {
  const rkernel::Factors factors = rkernel::factors_of(problem);
  // A tile of each right side does not fit in registers.
  if (factors.coded() || by_matrices(isa, factors) || !problem.contraction->others.empty()) return;
  const auto& windows = problem.operands[static_cast<std::size_t>(problem.contraction->a)].window;
  const bool lies_in_strips = windows && rkernel::lie_in_strips(*windows, problem.contraction->m);
  const double operations = operations_of(problem, isa, shape_class);
  const bool is_long = operations > choice::default_calibration().most_inlined_operations;
  if (is_long && !lies_in_strips) return;
  shape_class.sums_in_scratch = is_long;
  shape_class.full_tiles = full_tiles(problem, isa, inlined_rows(isa, is_long ? 0 : operations));
  shape_class.strips = lies_in_strips && !shape_class.full_tiles.empty();
}

ContractionForm make_form(rkernel::LaneAxis lanes, const rkernel::Problem& problem,
                          const codegen::Isa& isa) {
  ContractionForm form;
  form.problem = problem;
  form.lanes = lanes;
  form.classes =
      lanes == rkernel::LaneAxis::K ? dot_classes(problem) : enumerate_contraction_classes(problem);
  form.least_columns = lanes == rkernel::LaneAxis::K ? 1 : 0;
  form.most_columns = lanes == rkernel::LaneAxis::K   ? most_dot_columns(isa)
                      : lanes == rkernel::LaneAxis::M ? isa.f32_lanes
                                                      : std::numeric_limits<std::int64_t>::max();
  if (lanes == rkernel::LaneAxis::N) {
    for (ContractionClass& shape_class : form.classes) {
      add_full_tiles(problem, isa, shape_class);
      shape_class.rest_as_rows = has_rest_as_rows(problem, isa);
      shape_class.dot_rest = !shape_class.rest_as_rows && may_have_rest(problem, isa);
    }
  }
  form.epilogue_operations = operations_of(problem, isa, form.classes.front());
  form.epilogue_bytes = dense_bytes(problem);
  form.a_operations = operations_of_factor(problem, Factor::Left);
  form.b_operations = operations_of_factor(problem, Factor::Right);
  const std::vector<Tile>& inlined = form.classes.front().full_tiles;
  form.inlined_rows = inlined.empty() ? 0 : inlined.front().rows;
  if (lanes == rkernel::LaneAxis::M)
    form.epilogue_operations += choice::default_calibration().transposed_epilogue_operations;
  return form;
}

bool is_computed(const rkernel::Problem& problem) {
  return problem.contraction->a_value >= 0 || problem.contraction->b_value >= 0;
}

bool may_have_only(const rkernel::Problem& problem, int columns) {
  const graph::Dim extent = problem.axes[static_cast<std::size_t>(problem.contraction->n)].extent;
  return graph::prove_less_equal(extent.table().constant(columns + 1), extent) != true;
}

}  // namespace

bool is_dense(const rkernel::Problem& problem, int index) {
  const rkernel::Contraction& contraction = *problem.contraction;
  if (contraction.multiplies(index)) return false;
  const rkernel::Operand& operand = problem.operands[static_cast<std::size_t>(index)];
  const auto varies = [&](int axis) {
    return operand.strides[static_cast<std::size_t>(axis)].constant() != 0;
  };
  return varies(contraction.m) && varies(contraction.n);
}

bool may_have_rest(const rkernel::Problem& problem, const codegen::Isa& isa) {
  if (lies_in_words(problem) || problem.contraction->b_value >= 0) return false;
  // Dots add in another order, and pay for many rows alone: where runs have other numbers of rows,
  // a row would have other bits in one batch than in another.
  for (std::size_t axis = 0; axis < problem.axes.size(); ++axis) {
    const bool rows = problem.axes[axis].kind == rkernel::AxisKind::Parallel &&
                      axis != static_cast<std::size_t>(problem.contraction->n);
    if (rows && !problem.axes[axis].extent.constant()) return false;
  }
  const std::optional<std::int64_t> n =
      problem.axes[static_cast<std::size_t>(problem.contraction->n)].extent.constant();
  return !n || choice::rest_columns(isa.f32_lanes, *n) > 0;
}

bool has_rest_as_rows(const rkernel::Problem& problem, const codegen::Isa& isa) {
  const rkernel::Contraction& contraction = *problem.contraction;
  const auto extent = [&](int axis) {
    return problem.axes[static_cast<std::size_t>(axis)].extent.constant();
  };
  const rkernel::Operand& a = problem.operands[static_cast<std::size_t>(contraction.a)];
  const rkernel::Operand& b = problem.operands[static_cast<std::size_t>(contraction.b)];
  if (b.form != rkernel::Form::Packed || lies_in_words(problem) || !extent(contraction.n) ||
      !extent(contraction.k))
    return false;
  // Copies of A hold a block of K, these dots read a slice.
  if (contraction.a_value >= 0 || !must_be_unit(a.strides[static_cast<std::size_t>(contraction.k)]))
    return false;
  return packed_rows(isa, b.dtype, *extent(contraction.k), *extent(contraction.n)) > 0;
}

bool has_dot_form(const rkernel::Problem& problem, const codegen::Isa& isa) {
  return !lies_in_words(problem) && !is_computed(problem) &&
         may_have_only(problem, most_dot_columns(isa));
}

std::vector<ContractionForm> contraction_forms(const rkernel::Problem& problem,
                                               const codegen::Isa& isa) {
  using rkernel::LaneAxis;
  std::vector<ContractionForm> forms{make_form(LaneAxis::N, problem, isa)};
  // Panels of windows are not made.
  const bool has_windows =
      problem.operands[static_cast<std::size_t>(problem.contraction->a)].window.has_value();
  // Those are packed, or computed, for lanes along n alone.
  if (lies_in_words(problem) || is_computed(problem)) return forms;
  if (!has_windows && may_have_only(problem, isa.f32_lanes))
    forms.push_back(make_form(LaneAxis::M, with_sides_exchanged(problem), isa));
  if (has_dot_form(problem, isa)) forms.push_back(make_form(LaneAxis::K, problem, isa));
  return forms;
}

std::size_t class_for(const ContractionForm& form, const codegen::SlotTable& slots,
                      std::span<const std::int64_t> ints) {
  const auto stride = [&](int operand, int axis) {
    return codegen::value_of(slots.stride(operand, axis), ints);
  };
  const rkernel::Problem& problem = form.problem;
  const rkernel::Contraction& contraction = *problem.contraction;
  const bool a_packed =
      problem.operands[static_cast<std::size_t>(contraction.a)].form == rkernel::Form::Packed;
  const bool packed = form.lanes == rkernel::LaneAxis::K || !is_read_as_it_lies(problem);
  const bool a_unit =
      !a_packed && contraction.a_value < 0 && stride(contraction.a, contraction.k) == 1;
  const bool b_unit = stride(contraction.b, contraction.n) == 1;
  std::size_t generic = 0;
  for (std::size_t i = 0; i < form.classes.size(); ++i) {
    const ContractionClass& candidate = form.classes[i];
    if ((candidate.a_unit && !a_unit) || (!packed && candidate.b_unit && !b_unit)) continue;
    bool exact = candidate.a_unit == a_unit && (packed || candidate.b_unit == b_unit),
         possible = true;
    for (std::size_t operand = 0; operand < candidate.lanes.size(); ++operand) {
      const auto actual = codegen::class_of(stride(static_cast<int>(operand), problem.lane_axis));
      if (contraction.multiplies(static_cast<int>(operand))) continue;
      exact = exact && candidate.lanes[operand] == actual;
      possible = possible && (candidate.lanes[operand] == actual ||
                              candidate.lanes[operand] == codegen::StrideClass::Any);
    }
    if (exact) return i;
    if (possible) generic = i;
  }
  return generic;
}

}  // namespace dyn::cpu
