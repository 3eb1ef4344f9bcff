#include "targets/ptx/contraction/factor_bands.hpp"

#include <algorithm>
#include <utility>

#include "dyn/error.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/tile/tree.hpp"

namespace dyn::ptx {

FactorBands::FactorBands(KernelFrame& frame, const rkernel::RKernel& kernel,
                         const choice::GpuTile& tile, const Leaf& leaf,
                         const GpuContractionClass& shape_class)
    : builder_(frame.builder),
      frame_(frame),
      kernel_(kernel),
      problem_(*kernel.problem),
      contraction_(*problem_.contraction),
      tile_(tile),
      b_rows_are_k_(shape_class.b_order == BOrder::RowsAlongN) {
  matrices_.push_back({contraction_.a, contraction_.m, 0,
                       copy_of(contraction_.a, leaf.a_tile(), shape_class.a, DepthAlong::Columns)});
  int side = 0;
  for (const int operand : contraction_.right_sides())
    add_right_side(operand, side++, leaf.b_tile(), shape_class.b);
}

/// `all`: the tile of all right sides.
void FactorBands::add_right_side(int operand, int side, const SharedTile& all, Copy copy) {
  SharedTile part = all;
  int bytes = tile_.a_stage_bytes();
  if (b_rows_are_k_) {
    part.row_bytes = all.row_bytes / tile_.sides;
    part.before_bytes = side * part.row_bytes;
    part.after_bytes = all.row_bytes - part.row_bytes - part.before_bytes;
  } else {
    part.rows = all.rows / tile_.sides;
    bytes += side * part.rows * all.stride_bytes();
  }
  matrices_.push_back(
      {operand, contraction_.n, bytes,
       copy_of(operand, part, copy, b_rows_are_k_ ? DepthAlong::Rows : DepthAlong::Columns)});
}

std::unique_ptr<OperandCopy> FactorBands::computed_copy(int operand, const SharedTile& tile) const {
  const bool is_left = operand == contraction_.a;
  const ComputedFactor factor = is_left ? left_factor(problem_) : right_factor(problem_);
  if (!factor.is_computed() || (!is_left && !b_rows_are_k_))
    throw Error(ErrorKind::internal, problem_.name + " does not compute " +
                                         problem_.operands[static_cast<std::size_t>(operand)].name);
  return std::make_unique<ComputedCopy>(
      builder_, factor, tile, PieceCopies(moved_dtype(operand, tile), DType::f32, Copy::Computed),
      tile_.threads(), is_left ? DepthAlong::Columns : DepthAlong::Rows, frame_.slots, frame_.args);
}

std::unique_ptr<OperandCopy> FactorBands::copy_of(int operand, const SharedTile& tile, Copy copy,
                                                  DepthAlong depth_along) const {
  if (copy == Copy::Computed) return computed_copy(operand, tile);
  const rkernel::Operand& source = problem_.operands[static_cast<std::size_t>(operand)];
  const bool is_windows = source.window && operand == contraction_.a;
  if (!source.guards.empty() || source.gathers || source.form == rkernel::Form::Packed ||
      source.window.has_value() != is_windows) {
    throw Error(ErrorKind::internal, "operand " + source.name + " of the contraction " +
                                         problem_.name + " is no plain matrix");
  }
  const std::uint8_t outside = is_windows ? window_layout(*source.window).outside : 0;
  const PieceCopies pieces(moved_dtype(operand, tile), source.dtype, copy, outside);
  if (copy == Copy::Strips)
    return std::make_unique<StripCopy>(tile, pieces, tile_.threads(),
                                       window_layout(source.window.value()),
                                       strip_layout(problem_, tile_).value());
  if (is_windows)
    return std::make_unique<WindowCopy>(tile, pieces, tile_.threads(), contraction_.m,
                                        window_layout(*source.window));
  return std::make_unique<TileCopy>(tile, pieces, tile_.threads(), depth_along);
}

DType FactorBands::moved_dtype(int operand, const SharedTile& tile) const {
  const int moved = operand == contraction_.a ? contraction_.a : contraction_.b;
  for (const rkernel::Move& move : kernel_.layers[shared_layer].moves) {
    if (move.operand == moved && (move.form == rkernel::MoveForm::Swizzled) == tile.swizzled)
      return move.dtype;
  }
  throw Error(ErrorKind::internal, "the tree of " + problem_.name + " moves " +
                                       problem_.operands[static_cast<std::size_t>(operand)].name +
                                       " in another form than its leaf reads");
}

bool FactorBands::asynchronous() const {
  return std::ranges::any_of(matrices_, [](const Matrix& m) { return m.copy->asynchronous(); });
}
bool FactorBands::synchronous() const {
  return std::ranges::any_of(matrices_, [](const Matrix& m) { return m.copy->stores(); });
}
bool FactorBands::keeps() const {
  return std::ranges::any_of(matrices_, [](const Matrix& m) { return m.copy->keeps(); });
}

void FactorBands::prepare(const LaunchValues& values) {
  values_ = &values;
  llvm::Value* depth = values.extent(contraction_.k);
  for (Matrix& matrix : matrices_) {
    matrix.base = values.base(matrix.operand);
    if (auto* computed = dynamic_cast<ComputedCopy*>(matrix.copy.get())) {
      matrix.stride_i = values.wide(0);
      computed->prepare(frame_.thread);
    } else if (problem_.operands[static_cast<std::size_t>(matrix.operand)].window) {
      prepare_windows(matrix, depth);
    } else {
      prepare_matrix(matrix, dynamic_cast<TileCopy&>(*matrix.copy), depth);
    }
  }
}

void FactorBands::prepare_matrix(Matrix& matrix, TileCopy& copy, llvm::Value* depth) {
  const bool rows_along_k = !is_left(matrix) && b_rows_are_k_;
  matrix.stride_i = copy.in_chunks() && rows_along_k
                        ? values_->wide(1)
                        : values_->stride(matrix.operand, matrix.across);
  llvm::Value *rows = matrix.stride_i,
              *columns = copy.in_chunks() && !rows_along_k
                             ? values_->wide(1)
                             : values_->stride(matrix.operand, contraction_.k);
  if (rows_along_k) std::swap(rows, columns);
  copy.prepare(builder_, frame_.thread, rows, columns, depth);
}

void FactorBands::prepare_windows(Matrix& matrix, llvm::Value* depth) {
  const codegen::WindowSlots& slots = frame_.slots.window(matrix.operand);
  WindowValues values{{},
                      values_->slot(slots.channels),
                      values_->slot(slots.channel_step),
                      depth,
                      frame_.args.ints};
  for (const codegen::WindowAxisSlots& of : slots.axes)
    values.axes.push_back({values_->slot(of.count), values_->slot(of.size),
                           values_->slot(of.stride), values_->slot(of.dilation),
                           values_->slot(of.before), values_->slot(of.extent),
                           values_->slot(of.step)});
  matrix.stride_i = values_->wide(0);
  const auto memory = [&](int bytes) {
    return builder_.CreateConstInBoundsGEP1_32(builder_.getInt8Ty(), frame_.shared,
                                               static_cast<unsigned>(tile_.shared_bytes() - bytes));
  };
  llvm::Value* table = memory(tile_.window_table_bytes() + tile_.strip_bytes);
  if (auto* strips = dynamic_cast<StripCopy*>(matrix.copy.get()))
    return strips->prepare(builder_, frame_.thread, values, table, memory(tile_.strip_bytes));
  dynamic_cast<WindowCopy&>(*matrix.copy).prepare(builder_, frame_.thread, values, table);
}

llvm::Value* FactorBands::offset_of(const Matrix& matrix, llvm::Value* first,
                                    const std::map<int, llvm::Value*>& blocks) const {
  llvm::Value* offset = builder_.CreateMul(first, matrix.stride_i);
  for (const rkernel::Loop& loop : kernel_.layers[grid_layer].loops) {
    if (loop.axis == contraction_.m || loop.axis == contraction_.n) continue;
    offset = builder_.CreateAdd(
        offset,
        builder_.CreateMul(blocks.at(loop.axis), values_->stride(matrix.operand, loop.axis)));
  }
  return offset;
}

void FactorBands::enter(const BlockOutputs& outputs, const std::map<int, llvm::Value*>& blocks,
                        llvm::Value* step) {
  for (Matrix& matrix : matrices_) {
    llvm::Value* first = is_left(matrix) ? outputs.m : outputs.n;
    llvm::Value* origin =
        values_->element(matrix.operand, matrix.base, offset_of(matrix, first, blocks));
    matrix.position = matrix.copy->enter(
        builder_, {origin, is_left(matrix) ? outputs.rows : outputs.columns, first, &blocks, step});
  }
}

std::vector<llvm::Value*> FactorBands::positions() const {
  std::vector<llvm::Value*> all;
  for (const Matrix& matrix : matrices_)
    all.insert(all.end(), matrix.position.begin(), matrix.position.end());
  return all;
}

std::vector<llvm::Value*> FactorBands::next_positions() const {
  std::vector<llvm::Value*> all;
  for (const Matrix& matrix : matrices_) {
    const OperandCopy::Position next = matrix.copy->next(builder_, matrix.position);
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

void FactorBands::set_positions(std::span<llvm::Value* const> positions) {
  std::size_t at = 0;
  for (Matrix& matrix : matrices_) {
    for (llvm::Value*& value : matrix.position) value = positions[at++];
  }
}

std::vector<llvm::Value*> FactorBands::bands() const {
  std::vector<llvm::Value*> values = positions();
  for (const Matrix& matrix : matrices_) {
    const std::vector<llvm::Value*> band = matrix.copy->band();
    values.insert(values.end(), band.begin(), band.end());
  }
  return values;
}

void FactorBands::set_bands(std::span<llvm::Value* const> bands) {
  const std::size_t in_band = positions().size();
  set_positions(bands.first(in_band));
  bands = bands.subspan(in_band);
  for (Matrix& matrix : matrices_) {
    const std::size_t count = matrix.copy->band().size();
    matrix.copy->set_band(bands.first(count));
    bands = bands.subspan(count);
  }
}

llvm::Value* FactorBands::tile_of_stage(const Matrix& matrix, llvm::Value* stage) const {
  return matrix.stage_bytes == 0 ? stage
                                 : at_byte(builder_, stage, number(builder_, matrix.stage_bytes));
}

void FactorBands::issue(const rkernel::Move& move, llvm::Value* step, llvm::Value* stage) const {
  for (const Matrix& matrix : matrices_) {
    if (is_moved_by(matrix, move))
      matrix.copy->issue(builder_, matrix.position, step, tile_of_stage(matrix, stage));
  }
}

void FactorBands::issue_at_once(const rkernel::Move& move, llvm::Value* step,
                                llvm::Value* stage) const {
  for (const Matrix& matrix : matrices_) {
    if (is_moved_by(matrix, move) && !matrix.copy->keeps())
      matrix.copy->issue(builder_, matrix.position, step, tile_of_stage(matrix, stage));
  }
}

std::vector<llvm::Value*> FactorBands::load_kept(llvm::Value* step) const {
  std::vector<llvm::Value*> all;
  for (const Matrix& matrix : matrices_) {
    if (!matrix.copy->keeps()) continue;
    const std::vector<llvm::Value*> loaded = matrix.copy->load(builder_, matrix.position, step);
    all.insert(all.end(), loaded.begin(), loaded.end());
  }
  return all;
}

void FactorBands::store_kept(std::span<llvm::Value* const> loaded, llvm::Value* step,
                             llvm::Value* stage) const {
  for (const Matrix& matrix : matrices_) {
    if (!matrix.copy->keeps()) continue;
    const std::size_t count = matrix.copy->kept_values();
    matrix.copy->store(builder_, loaded.first(count), step, tile_of_stage(matrix, stage));
    loaded = loaded.subspan(count);
  }
}

}  // namespace dyn::ptx
