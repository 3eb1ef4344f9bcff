#include "targets/ptx/copies/computed_copy.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;

rkernel::Problem with_lanes_along(const rkernel::Problem& problem, int axis) {
  rkernel::Problem turned = problem;
  turned.lane_axis = axis;
  return turned;
}

/// Strides along the lanes that may be anything are loaded for each lane.
std::vector<codegen::StrideClass> lane_classes_of(const rkernel::Problem& problem, int axis) {
  std::vector<codegen::StrideClass> classes;
  for (const rkernel::Operand& operand : problem.operands)
    classes.push_back(operand.strides[static_cast<std::size_t>(axis)].constant() == 0
                          ? codegen::StrideClass::Zero
                          : codegen::StrideClass::Any);
  return classes;
}

bool has_indices(const ComputedFactor& factor) {
  const std::vector<bool> reached =
      rkernel::reached_exprs(factor.problem->exprs, {&factor.root, 1});
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] && factor.problem->exprs[i].op == rkernel::ExprOp::Index) return true;
  }
  return false;
}

llvm::Value* is_multiple_of(Builder& builder, llvm::Value* value, int of) {
  return builder.CreateICmpEQ(
      builder.CreateAnd(value, builder.getInt64(static_cast<std::uint64_t>(of - 1))),
      builder.getInt64(0));
}

}  // namespace

ComputedCopy::ComputedCopy(Builder& builder, const ComputedFactor& factor, const SharedTile& tile,
                           const PieceCopies& copies, int threads, DepthAlong depth_along,
                           const codegen::SlotTable& slots, const codegen::KernelArgsValues& args)
    : OperandCopy(copies),
      builder_(builder),
      problem_(with_lanes_along(*factor.problem, factor.column_axis)),
      factor_(factor),
      tile_(tile),
      groups_{tile.rows, tile.row_bytes / bytes_of(copies.tile()), threads},
      depth_along_(depth_along),
      slots_(slots),
      operands_(builder, problem_, slots, lane_classes_of(problem_, factor.column_axis), args,
                factor_group),
      values_(builder, problem_, slots, args, operands_),
      compiler_(builder, problem_, operands_, device_math),
      counts_(has_indices(factor)) {
  for (FactorSource& source : sources_of(factor)) {
    const DType dtype = problem_.operands[static_cast<std::size_t>(source.operand)].dtype;
    const int rows = slots.stride(source.operand, factor.row_axis),
              columns = slots.stride(source.operand, factor.column_axis);
    sources_.push_back({std::move(source), dtype, rows, columns});
  }
}

llvm::Value* ComputedCopy::wide(std::int64_t value) const { return values_.wide(value); }

llvm::Type* ComputedCopy::element_type(const Source& source) const {
  return codegen::memory_type(builder_.getContext(), source.dtype);
}

int ComputedCopy::depth_of_tile() const {
  return depth_along_ == DepthAlong::Rows ? groups_.rows : groups_.columns;
}

llvm::Value* ComputedCopy::distance(const Source& source, llvm::Value* row,
                                    llvm::Value* column) const {
  const auto times = [&](llvm::Value* index, llvm::Value* bytes) {
    return builder_.CreateMul(builder_.CreateZExt(index, builder_.getInt64Ty()), bytes);
  };
  return builder_.CreateAdd(times(row, source.row_bytes), times(column, source.column_bytes));
}

ComputedCopy::Group ComputedCopy::group_at(int index) const {
  llvm::Value* number_of_group =
      index == 0 ? thread_ : builder_.CreateAdd(thread_, number(builder_, index * groups_.threads));
  llvm::Value* in_row = number(builder_, groups_.groups_in_row());
  Group group{builder_.CreateUDiv(number_of_group, in_row),
              builder_.CreateMul(builder_.CreateURem(number_of_group, in_row),
                                 number(builder_, factor_group)),
              nullptr};
  if (groups_.groups() % groups_.threads != 0)
    group.inside = builder_.CreateICmpULT(number_of_group, number(builder_, groups_.groups()));
  return group;
}

// True where rows of all operands begin with whole groups, whose elements are neighbours.
llvm::Value* ComputedCopy::aligned_everywhere() const {
  llvm::Value* aligned = builder_.getTrue();
  const auto meet = [&](llvm::Value* condition) {
    aligned = builder_.CreateAnd(aligned, condition);
  };
  for (const Source& source : sources_) {
    if (!source.of.along_columns) continue;
    meet(builder_.CreateICmpEQ(source.column_bytes, wide(element_bytes(source))));
    meet(is_multiple_of(builder_, source.row_bytes, factor_group * element_bytes(source)));
  }
  return aligned;
}

void ComputedCopy::prepare(llvm::Value* thread) {
  thread_ = thread;
  const Group first = group_at(0);
  for (Source& source : sources_) {
    const auto bytes = [&](int slot) {
      return builder_.CreateMul(values_.slot(slot), wide(element_bytes(source)));
    };
    source.row_bytes = bytes(source.stride_along_rows);
    source.column_bytes = bytes(source.stride_along_columns);
    source.first = distance(source, first.row, first.column);
  }
  usable_ = aligned_everywhere();
}

OperandCopy::Position ComputedCopy::enter(Builder& builder, const TileBand& band) {
  const rkernel::Contraction& contraction = *problem_.contraction;
  const bool depth_in_rows = depth_along_ == DepthAlong::Rows;
  across_ = band.across;
  across_index_ = band.first;
  Position position;
  llvm::Value* aligned = usable_;
  for (const Source& source : sources_) {
    llvm::Value* at =
        builder.CreateMul(band.first, depth_in_rows ? source.column_bytes : source.row_bytes);
    for (const auto& [axis, index] : *band.batch) {
      if (axis == contraction.m || axis == contraction.n) continue;
      llvm::Value* stride = values_.stride(source.of.operand, axis);
      at = builder.CreateAdd(
          at, builder.CreateMul(index, builder.CreateMul(stride, wide(element_bytes(source)))));
    }
    llvm::Value* origin = at_byte(builder, values_.base(source.of.operand), at);
    if (source.of.along_columns)
      aligned = builder.CreateAnd(
          aligned, is_multiple_of(builder, builder.CreatePtrToInt(origin, builder.getInt64Ty()),
                                  factor_group * element_bytes(source)));
    position.push_back(origin);
  }
  for (const auto& [axis, index] : *band.batch) {
    if (axis != contraction.m && axis != contraction.n) operands_.set_index(axis, index);
  }
  const int extent = depth_in_rows ? groups_.columns : groups_.rows;
  llvm::Value* whole =
      builder.CreateAnd(aligned, builder.CreateICmpEQ(across_, number(builder, extent)));
  llvm::Value* steps = builder.CreateUDiv(values_.extent(contraction.k), wide(depth_of_tile()));
  whole_steps_ = builder.CreateSelect(whole, builder.CreateTrunc(steps, builder.getInt32Ty()),
                                      number(builder, 0));
  if (band.step == nullptr) return position;
  llvm::Value* step = builder.CreateZExt(band.step, builder.getInt64Ty());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    llvm::Value* along = depth_in_rows ? sources_[i].row_bytes : sources_[i].column_bytes;
    position[i] = at_byte(builder, position[i],
                          builder.CreateMul(builder.CreateMul(step, wide(depth_of_tile())), along));
  }
  return position;
}

void ComputedCopy::set_band(std::span<llvm::Value* const> values) {
  across_ = values[0];
  whole_steps_ = values[1];
}

OperandCopy::Position ComputedCopy::next(Builder& builder, const Position& position) const {
  Position next;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    llvm::Value* along =
        depth_along_ == DepthAlong::Rows ? sources_[i].row_bytes : sources_[i].column_bytes;
    next.push_back(at_byte(builder, position[i], builder.CreateMul(along, wide(depth_of_tile()))));
  }
  return next;
}

ComputedCopy::Extents ComputedCopy::existing(llvm::Value* step) const {
  llvm::Value* before =
      builder_.CreateMul(builder_.CreateZExt(step, builder_.getInt64Ty()), wide(depth_of_tile()));
  llvm::Value* depth =
      values_.existing(values_.extent(problem_.contraction->k), before, depth_of_tile());
  return depth_along_ == DepthAlong::Rows ? Extents{depth, across_} : Extents{across_, depth};
}

bool ComputedCopy::is_loaded_once(const Source& source) const {
  return !source.of.along_rows && (!source.of.along_columns || groups_.has_fixed_columns());
}

std::size_t ComputedCopy::kept_values() const {
  std::size_t count = 0;
  for (const Source& source : sources_)
    count += is_loaded_once(source) ? 1 : static_cast<std::size_t>(groups_.groups_of_thread());
  return count;
}

/// A group of an operand that varies along columns, else its element of the row.
llvm::Value* ComputedCopy::load_group(const Source& source, llvm::Value* tile, llvm::Value* from,
                                      const Group& group) const {
  const int elements = source.of.along_columns ? factor_group : 1;
  if (group.inside != nullptr) from = builder_.CreateSelect(group.inside, from, tile);
  return builder_.CreateAlignedLoad(
      codegen::lanes_of(element_type(source), elements), from,
      llvm::Align(static_cast<std::uint64_t>(elements * element_bytes(source))));
}

/// The same, one by one; those that do not exist are the tile's first one, which does.
llvm::Value* ComputedCopy::load_elements(const Source& source, llvm::Value* tile,
                                         const Group& group, const Extents& extents) const {
  llvm::Value* row = builder_.CreateAdd(group.row, extents.zero);
  llvm::Value* first = builder_.CreateAdd(group.column, extents.zero);
  const auto element = [&](int index) {
    llvm::Value* column = builder_.CreateAdd(first, number(builder_, index));
    llvm::Value* exists = builder_.getTrue();
    if (source.of.along_rows) exists = builder_.CreateICmpSLT(row, extents.rows);
    if (source.of.along_columns)
      exists = builder_.CreateAnd(exists, builder_.CreateICmpSLT(column, extents.columns));
    if (group.inside != nullptr) exists = builder_.CreateAnd(exists, group.inside);
    llvm::Value* from = at_byte(builder_, tile, distance(source, row, column));
    return builder_.CreateAlignedLoad(
        element_type(source), builder_.CreateSelect(exists, from, tile),
        llvm::Align(static_cast<std::uint64_t>(element_bytes(source))));
  };
  if (!source.of.along_columns) return element(0);
  llvm::Value* loaded =
      llvm::PoisonValue::get(codegen::lanes_of(element_type(source), factor_group));
  for (int i = 0; i < factor_group; ++i)
    loaded = builder_.CreateInsertElement(loaded, element(i), static_cast<std::uint64_t>(i));
  return loaded;
}

/// `extents`: nullptr where the whole tile exists, in aligned groups.
ComputedCopy::Values ComputedCopy::load_all(const Position& position,
                                            const Extents* extents) const {
  Values loaded;
  const int count = groups_.groups_of_thread();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    llvm::Value* from = at_byte(builder_, position[i], source.first);
    llvm::Value* step =
        groups_.has_fixed_columns()
            ? builder_.CreateMul(source.row_bytes, wide(groups_.threads / groups_.groups_in_row()))
            : nullptr;
    for (int index = 0; index < (is_loaded_once(source) ? 1 : count); ++index) {
      const Group group = group_at(index);
      if (extents != nullptr) {
        loaded.push_back(load_elements(source, position[i], group, *extents));
        continue;
      }
      if (index > 0)
        from = step != nullptr
                   ? at_byte(builder_, from, step)
                   : at_byte(builder_, position[i], distance(source, group.row, group.column));
      loaded.push_back(load_group(source, position[i], from, group));
    }
  }
  return loaded;
}

ComputedCopy::Values ComputedCopy::load(Builder& builder, const Position& position,
                                        llvm::Value* step) const {
  const auto whole = [&] { return load_all(position, nullptr); };
  const auto part = [&] {
    Extents extents = existing(step);
    // 0, which an assembler cannot know: it would keep the distances of all elements in registers
    // from step to step.
    extents.zero = builder.CreateLShr(step, number(builder, 31));
    return load_all(position, &extents);
  };
  return codegen::chosen(builder, builder.CreateICmpSLT(step, whole_steps_), "load_factor", whole,
                         part);
}

/// The elements of the thread's group number `index`, of f32.
llvm::Value* ComputedCopy::value_of(std::span<llvm::Value* const> loaded, int index,
                                    const Group& group, llvm::Value* step) const {
  if (counts_) {
    const auto set = [&](int axis, llvm::Value* first, llvm::Value* within) {
      operands_.set_index(
          axis, builder_.CreateAdd(first, builder_.CreateZExt(within, builder_.getInt64Ty())));
    };
    llvm::Value* depth =
        builder_.CreateMul(builder_.CreateZExt(step, builder_.getInt64Ty()), wide(depth_of_tile()));
    const bool depth_in_rows = depth_along_ == DepthAlong::Rows;
    set(factor_.row_axis, depth_in_rows ? depth : across_index_, group.row);
    set(factor_.column_axis, depth_in_rows ? across_index_ : depth, group.column);
  }
  compiler_.enter(0);
  std::size_t place = 0;
  for (const Source& source : sources_) {
    const bool once = is_loaded_once(source);
    llvm::Value* value = operands_.in_register(
        source.of.operand, loaded[place + static_cast<std::size_t>(once ? 0 : index)]);
    for (const int load : source.of.loads) compiler_.bind(load, value);
    place += static_cast<std::size_t>(once ? 1 : groups_.groups_of_thread());
  }
  llvm::Value* result = compiler_.compile(factor_.root);
  compiler_.leave();
  return result;
}

/// `extents`: where K ends within the tile; nullptr: behind it.
void ComputedCopy::store_all(std::span<llvm::Value* const> loaded, llvm::Value* step,
                             llvm::Value* destination, const Extents* extents) const {
  const int element = bytes_of(pieces().tile());
  for (int index = 0; index < groups_.groups_of_thread(); ++index) {
    const Group group = group_at(index);
    llvm::Value* value = value_of(loaded, index, group, step);
    if (extents != nullptr) {
      llvm::Value* exists =
          depth_along_ == DepthAlong::Rows
              ? builder_.CreateICmpSLT(group.row, extents->rows)
              : builder_.CreateICmpSLT(
                    builder_.CreateAdd(
                        codegen::broadcast(builder_, group.column, factor_group),
                        codegen::iota(builder_, builder_.getInt32Ty(), factor_group)),
                    codegen::broadcast(builder_, extents->columns, factor_group));
      value = builder_.CreateSelect(exists, value, llvm::Constant::getNullValue(value->getType()));
    }
    llvm::Value* place = at_byte(builder_, destination,
                                 tile_.element_offset(builder_, group.row, group.column, element));
    std::optional<codegen::Conditional> inside;
    if (group.inside != nullptr) inside.emplace(builder_, group.inside, "factor_inside");
    builder_.CreateAlignedStore(pieces().as_stored(builder_, value), place,
                                llvm::Align(static_cast<std::uint64_t>(factor_group * element)));
    if (inside) inside->close();
  }
}

void ComputedCopy::store(Builder& builder, std::span<llvm::Value* const> loaded, llvm::Value* step,
                         llvm::Value* destination) const {
  const auto whole = [&] { store_all(loaded, step, destination, nullptr); };
  const auto part = [&] {
    const Extents extents = existing(step);
    store_all(loaded, step, destination, &extents);
  };
  codegen::choose(builder, builder.CreateICmpSLT(step, whole_steps_), "store_factor", whole, part);
}

void ComputedCopy::issue(Builder& builder, const Position& position, llvm::Value* step,
                         llvm::Value* destination) const {
  store(builder, load(builder, position, step), step, destination);
}

}  // namespace dyn::ptx
