#include "targets/cpu/contraction/forms.hpp"

#include <algorithm>
#include <limits>

#include "src/base/bytes.hpp"
#include "targets/cpu/contraction/epilogue_function.hpp"
#include "targets/cpu/contraction/full_tiles.hpp"
#include "targets/cpu/move/computed_factor.hpp"
#include "targets/cpu/move/image_work.hpp"
#include "targets/cpu/move/move_functions.hpp"
#include "targets/cpu/move/window_copy.hpp"
#include "targets/llvm/jit/listing.hpp"

namespace dyn::cpu {

using rkernel::LaneAxis;

namespace {

/// Results of products of bf16, whose instruction takes subnormal numbers for 0, are rounded by the
/// instruction that does so too.
const codegen::Isa& isa_of_results(const rkernel::Problem& problem, const codegen::Isa& isa) {
  return rkernel::group_of(problem) == rkernel::Group::Bfloats ? codegen::with_rounding(isa) : isa;
}

}  // namespace

ContractionForms::ContractionForms(const rkernel::Problem& problem,
                                   std::shared_ptr<const ContractionContext> context,
                                   std::size_t constant_level)
    : context_(std::move(context)),
      isa_(isa_of_results(problem, context_->isa())),
      slots_(problem),
      constant_level_(constant_level) {
  for (ContractionForm& form : contraction_forms(problem, isa_)) {
    // A split K has one place for the sums of each output.
    const bool splits = problem.contraction->others.empty() &&
                        ((context_->splits() && form.lanes != LaneAxis::M) ||
                         (context_->library().is_there() && form.lanes == LaneAxis::N));
    rkernel::Problem factors = factors_only(form.problem);
    forms_.push_back({std::move(form), std::move(factors), splits, {}, {}});
  }
  for (BoundForm& bound : forms_) add_sources(bound);  // they refer to forms in their places
}

void ContractionForms::add_sources(BoundForm& bound) {
  const codegen::Isa& isa = context_->isa();
  const rkernel::Problem& problem = forms_.front().form.problem;
  const auto add = [&](codegen::KernelSource source) {
    sources_.push_back(std::move(source));
    return sources_.size() - 1;
  };
  const auto add_of_results = [&](codegen::KernelSource source) {
    if (isa_.rounds_bfloats && !isa.rounds_bfloats) source.key += "; rounds results";
    return add(std::move(source));
  };
  for (const ContractionClass& shape_class : bound.form.classes) {
    BoundForm::Functions functions;
    functions.tickets = add(contraction_source(bound.factors, isa, shape_class));
    functions.epilogue =
        add_of_results(epilogue_source(problem, isa_, slots_.table, shape_class.lanes));
    if (bound.splits) functions.merge = add(contraction_merge_source(bound.factors, isa));
    for (const Tile& tile : shape_class.full_tiles) {
      auto& place = tile.columns == isa.f32_lanes ? functions.full_vector : functions.full_panel;
      place = add_of_results(full_tiles_source(problem, isa_, slots_.table, shape_class, tile));
    }
    bound.classes.push_back(functions);
  }
  std::array<codegen::KernelSource, 3> moves = moves_of(bound.form);
  for (std::size_t i = 0; i < moves.size(); ++i) bound.moves[i] = add(std::move(moves[i]));
  const rkernel::Contraction& contraction = *bound.form.problem.contraction;
  if (contraction.a_value >= 0 && problem.operands[static_cast<std::size_t>(contraction.a)].window)
    bound.image_work = add(image_work_source(bound.form.problem, isa_, slots_.table));
}

// In the order of BoundForm::moves.
std::array<codegen::KernelSource, 3> ContractionForms::moves_of(const ContractionForm& form) const {
  const codegen::Isa& isa = context_->isa();
  const rkernel::Contraction& contraction = *form.problem.contraction;
  const auto operand = [&](int index) -> const rkernel::Operand& {
    return form.problem.operands[static_cast<std::size_t>(index)];
  };
  const rkernel::Operand &a = operand(contraction.a), &b = operand(contraction.b);
  // Rows of these are copied in fours of bytes; of codes no column is ever copied.
  const bool grouped = contraction.group != rkernel::Group::None, copies = !grouped && !b.coding;
  const bool arrives_in_groups = grouped && b.form != rkernel::Form::Packed;
  const auto computed = [&](Factor factor) {
    return computed_factor_source(form.problem, factor, isa_, slots_.table);
  };
  const bool computes_a = contraction.a_value >= 0;
  return {a.window     ? window_copy_source(isa, window_form(*a.window, contraction.m, computes_a))
          : computes_a ? computed(Factor::Left)
          : contraction.is_ragged()
              ? move_source(isa, MoveKind::GroupRows, a.dtype, contraction.group)
              : move_source(isa, MoveKind::RowCopy, grouped ? DType::f32 : a.dtype),
          contraction.b_value >= 0    ? computed(Factor::Right)
          : form.lanes == LaneAxis::K ? move_source(isa, MoveKind::RowCopy, b.dtype)
          : arrives_in_groups ? move_source(isa, MoveKind::GroupPanels, b.dtype, contraction.group)
                              : move_source(isa, MoveKind::Panels, DType::f32),
          move_source(isa, MoveKind::ColumnsAsRows, copies ? b.dtype : DType::f32)};
}

void ContractionForms::set_functions(const BoundForm& bound, std::span<const std::int64_t> ints,
                                     rkernel::Launch& launch) const {
  const StrategySlots& strategy = slots_.strategy;
  const BoundForm::Functions& functions = functions_for(bound, ints);
  const auto set = [&](int slot, std::optional<std::size_t> function) {
    launch.ints[static_cast<std::size_t>(slot)] =
        function ? reinterpret_cast<std::intptr_t>(functions_.at(*function)) : 0;
  };
  set(strategy.a_move, bound.moves[0]);
  set(strategy.image_work, bound.image_work);
  set(strategy.b_move, bound.moves[1]);
  set(strategy.rest_move, bound.moves[2]);
  set(strategy.epilogue, functions.epilogue);
  set(strategy.full_panel, functions.full_panel);
  set(strategy.full_vector, functions.full_vector);
  launch.ints[static_cast<std::size_t>(strategy.full_rows)] = bound.form.inlined_rows;
}

// How many parts of a row of A lie together in the tensor that its window slides over.
std::int64_t ContractionForms::runs_of_a(const rkernel::WindowRows& window,
                                         std::span<const std::int64_t> ints) const {
  const codegen::WindowSlots& slots =
      slots_.table.window(forms_.front().form.problem.contraction->a);
  std::int64_t runs =
      window.channel_step.constant() == 1 ? 1 : codegen::value_of(slots.channels, ints);
  for (const codegen::WindowAxisSlots& axis : slots.axes)
    runs *= codegen::value_of(axis.size, ints);
  return rkernel::is_run(window)
             ? runs / std::max<std::int64_t>(1, codegen::value_of(slots.axes.back().size, ints))
             : runs;
}

choice::WindowStrips ContractionForms::strips_of_a(const rkernel::WindowRows& window,
                                                   std::span<const std::int64_t> ints) const {
  const codegen::WindowSlots& slots =
      slots_.table.window(forms_.front().form.problem.contraction->a);
  const auto value = [&](int slot) { return codegen::value_of(slot, ints); };
  const codegen::WindowAxisSlots &down = slots.axes[window.axes.size() - 2],
                                 &along = slots.axes.back();
  choice::WindowStrips strips;
  strips.windows = std::max<std::int64_t>(1, value(along.count));
  strips.row_elements =
      ((strips.windows - 1) * value(along.stride) + value(along.size)) * value(slots.channels);
  strips.step = value(down.stride);
  strips.taps = (value(down.size) - 1) * value(down.dilation) + 1;
  return strips;
}

// Elements of the left side in memory: each counts once, however many windows it is in.
std::int64_t ContractionForms::elements_of_a(const ContractionForm& form,
                                             std::span<const std::int64_t> ints) const {
  const rkernel::Problem& problem = form.problem;
  const rkernel::Contraction& contraction = *problem.contraction;
  const auto& window = problem.operands[static_cast<std::size_t>(contraction.a)].window;
  std::int64_t elements = 1;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
    const bool slides =
        window &&
        (axis == contraction.k ||
         std::ranges::find(window->axes, axis, &rkernel::WindowAxis::axis) != window->axes.end());
    if (axis != contraction.n && !slides)
      elements *= codegen::value_of(slots_.table.extent(axis), ints);
  }
  if (!window) return elements;
  for (const codegen::WindowAxisSlots& axis : slots_.table.window(contraction.a).axes)
    elements *= codegen::value_of(axis.extent, ints);
  return elements * codegen::value_of(slots_.table.window(contraction.a).channels, ints);
}

// True where the rows of A consist of whole groups; of ragged ones only the sizes tell.
bool ContractionForms::has_whole_groups(std::span<const std::int64_t> ints) const {
  const rkernel::Contraction& contraction = *forms_.front().form.problem.contraction;
  if (!contraction.is_ragged()) return true;
  const std::int64_t size = rkernel::elements_of(contraction.group);
  const auto is_whole = [&](int slot) { return codegen::value_of(slot, ints) % size == 0; };
  bool whole = is_whole(slots_.table.depth()) && is_whole(slots_.table.offset(contraction.a));
  for (int axis = 0; axis < static_cast<int>(forms_.front().form.problem.axes.size()); ++axis)
    whole = whole && (axis == contraction.k || is_whole(slots_.table.stride(contraction.a, axis)));
  return whole;
}

choice::ContractionShape ContractionForms::shape_of(const ContractionForm& form,
                                                    std::span<const std::int64_t> ints) const {
  const rkernel::Problem& problem = form.problem;
  const rkernel::Contraction& contraction = *problem.contraction;
  const auto value = [&](int slot) { return codegen::value_of(slot, ints); };
  const auto packed = [&](int operand) {
    return problem.operands[static_cast<std::size_t>(operand)].form == rkernel::Form::Packed;
  };
  choice::ContractionShape shape;
  shape.lanes = form.lanes;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
    const std::int64_t extent = value(slots_.table.extent(axis));
    if (axis == contraction.m)
      shape.m = extent;
    else if (axis == contraction.n)
      shape.n = extent;
    else if (axis == contraction.k)
      shape.k = extent;
    else
      shape.batch *= extent;
  }
  shape.group = contraction.group;
  shape.coding = problem.operands[static_cast<std::size_t>(contraction.b)].coding;
  if (shape.group == rkernel::Group::None) {
    shape.a_dtype = rkernel::left_dtype(problem);
    if (contraction.b_value < 0)
      shape.b_dtype = problem.operands[static_cast<std::size_t>(contraction.b)].dtype;
  }
  shape.b_packed = packed(contraction.b);
  shape.must_copy_a = packed(contraction.a) || contraction.a_value >= 0 ||
                      value(slots_.table.stride(contraction.a, contraction.k)) != 1 ||
                      !has_whole_groups(ints);
  const std::int64_t a_bytes =
      contraction.is_ragged()
          ? static_cast<std::int64_t>(
                size_of(problem.operands[static_cast<std::size_t>(contraction.a)].dtype))
          : float_bytes;
  shape.a_row_bytes = a_bytes * value(slots_.table.stride(contraction.a, contraction.m));
  if (!shape.b_packed) {
    shape.must_pack_b = contraction.group != rkernel::Group::None || contraction.b_value >= 0 ||
                        value(slots_.table.stride(contraction.b, contraction.n)) != 1;
    shape.b_row_bytes = 4 * value(slots_.table.stride(contraction.b, contraction.k));
  }
  shape.epilogue_operations = form.epilogue_operations;
  shape.epilogue_bytes = form.epilogue_bytes;
  shape.a_operations = static_cast<float>(form.a_operations);
  shape.b_operations = static_cast<float>(form.b_operations);
  shape.inlined_rows = form.inlined_rows;
  // Lanes along K add in another order.
  shape.may_dot_rest = form.classes.front().dot_rest && !context_->deterministic();
  shape.rest_as_rows = form.classes.front().rest_as_rows;
  shape.right_sides = static_cast<int>(contraction.others.size()) + 1;
  if (!context_->splits() || shape.right_sides > 1)
    shape.fixed_slices = 1;
  else if (context_->deterministic())
    shape.fixed_slices = rkernel::fixed_slices(shape.batch * shape.m * shape.n, shape.k);
  const choice::Machine& machine = context_->machine();
  const auto level = [&](int operand, std::int64_t elements) {
    return packed(operand) ? constant_level_ : machine.level_of(4 * elements);
  };
  const std::int64_t elements = elements_of_a(form, ints);
  shape.a_level = level(contraction.a, elements);
  if (const auto& window = problem.operands[static_cast<std::size_t>(contraction.a)].window) {
    const auto taps = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                      static_cast<double>(shape.k);
    shape.a_slides = true;
    shape.a_distinct =
        static_cast<float>(std::min(1.0, static_cast<double>(elements) / std::max(taps, 1.0)));
    if (std::ranges::all_of(form.classes, &ContractionClass::strips))
      shape.a_strips = strips_of_a(*window, ints);
    shape.a_runs = static_cast<int>(
        std::min<std::int64_t>(runs_of_a(*window, ints), std::numeric_limits<int>::max()));
  }
  shape.b_level = level(contraction.b, shape.batch * shape.n * shape.k);
  return shape;
}

const BoundForm& ContractionForms::with_lanes(LaneAxis lanes) const {
  return *std::ranges::find_if(forms_,
                               [&](const BoundForm& form) { return form.form.lanes == lanes; });
}

std::vector<choice::ContractionShape> ContractionForms::shapes_of(
    std::span<const std::int64_t> ints) const {
  std::vector<choice::ContractionShape> shapes{shape_of(forms_.front().form, ints)};
  const std::int64_t columns = shapes.front().n;
  for (std::size_t i = 1; i < forms_.size(); ++i) {
    // Lanes along K add in another order, and lanes along M cannot cut K in slices.
    const LaneAxis lanes = forms_[i].form.lanes;
    if (context_->deterministic() &&
        (lanes == LaneAxis::K || (lanes == LaneAxis::M && shapes.front().fixed_slices > 1)))
      continue;
    if (covers(forms_[i].form, columns)) shapes.push_back(shape_of(forms_[i].form, ints));
  }
  return shapes;
}

std::vector<rkernel::CodeListing> ContractionForms::list_launched(
    const rkernel::Launch& launch) const {
  const StrategySlots& strategy = slots_.strategy;
  std::vector<const void*> functions{reinterpret_cast<const void*>(launch.function),
                                     reinterpret_cast<const void*>(launch.merge)};
  for (const int slot : {strategy.epilogue, strategy.full_panel, strategy.full_vector})
    functions.push_back(reinterpret_cast<const void*>(launch.ints[static_cast<std::size_t>(slot)]));
  return codegen::list_functions(context_->isa(), sources_, functions_, functions);
}

const BoundForm::Functions& ContractionForms::functions_for(
    const BoundForm& bound, std::span<const std::int64_t> ints) const {
  return bound.classes[class_for(bound.form, slots_.table, ints)];
}

rkernel::KernelFunction ContractionForms::function(const BoundForm& bound,
                                                   std::span<const std::int64_t> ints) const {
  return reinterpret_cast<rkernel::KernelFunction>(
      functions_.at(functions_for(bound, ints).tickets));
}

rkernel::KernelFunction ContractionForms::second_stage(const BoundForm& bound,
                                                       std::span<const std::int64_t> ints) const {
  return reinterpret_cast<rkernel::KernelFunction>(
      functions_.at(functions_for(bound, ints).merge.value()));
}

void set_work(const choice::ContractionShape& shape, const ContractionForm& form,
              rkernel::Launch& launch) {
  launch.flops = 2.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                 static_cast<double>(shape.n) * static_cast<double>(shape.k) *
                 rkernel::elements_of(shape.group) * shape.right_sides;
  launch.group = shape.group;
  // Constant operands are there once for all batches.
  const bool a_packed =
      form.problem.operands[static_cast<std::size_t>(form.problem.contraction->a)].form ==
      rkernel::Form::Packed;
  const auto bytes_of = [&](double element, bool shared, std::int64_t elements) {
    return element * static_cast<double>(shared ? 1 : shape.batch) * static_cast<double>(elements);
  };
  launch.bytes =
      bytes_of(static_cast<double>(size_of(shape.a_dtype)), a_packed, shape.m * shape.k) +
      bytes_of(shape.b_element_bytes(), shape.b_packed, shape.n * shape.k) +
      bytes_of(float_bytes, false, shape.m * shape.n);
}

}  // namespace dyn::cpu
