#include "targets/cpu/contraction/copies.hpp"

#include "targets/cpu/move/computed_factor.hpp"
#include "targets/cpu/move/move_functions.hpp"
#include "targets/cpu/move/window_copy.hpp"
#include "targets/cpu/tile/widening.hpp"

namespace dyn::cpu {
namespace {

using codegen::Conditional;

llvm::Value* move_function(const ContractionFunction& code, int slot) {
  return code.builder().CreateIntToPtr(code.slot(slot), code.builder().getPtrTy());
}

WindowBlock window_block(const ContractionFunction& code, const Ticket& ticket, llvm::Value* k0,
                         llvm::Value* k_size) {
  codegen::Builder& builder = code.builder();
  const rkernel::Contraction& contraction = code.source().contraction();
  const rkernel::WindowRows& rows = *code.source().a().window;
  const codegen::WindowSlots& slots = code.source().slots.window(contraction.a);
  // What the parts after this one leave of the index along each batch axis.
  std::map<int, llvm::Value*> left;
  WindowBlock block;
  block.form = window_form(rows, contraction.m, contraction.a_value >= 0);
  block.channels = code.slot(slots.channels);
  block.channel_step = code.slot(slots.channel_step);
  block.outside = code.slot(slots.outside);
  for (std::size_t i = rows.axes.size(); i-- > 0;) {
    const rkernel::WindowAxis& axis = rows.axes[i];
    const codegen::WindowAxisSlots& of = slots.axes[i];
    WindowAxisValues values{code.slot(of.size),   code.slot(of.stride), code.slot(of.dilation),
                            code.slot(of.before), code.slot(of.extent), code.slot(of.step)};
    if (axis.axis == contraction.m) {
      values.count = code.slot(of.count);
    } else {
      llvm::Value*& index = left.try_emplace(axis.axis, ticket.index.at(axis.axis)).first->second;
      values.index = builder.CreateURem(index, code.slot(of.count));
      index = builder.CreateUDiv(index, code.slot(of.count));
    }
    block.axes.insert(block.axes.begin(), values);
  }
  block.data = matrix_of_batch(code, ticket, contraction.a);
  block.first_row = ticket.rows.rows.start;
  block.rows = ticket.rows.rows.size;
  block.k0 = k0;
  block.k_size = k_size;
  block.work = code.slot(code.source().strategy.image_work);
  block.kernel_args = builder.CreatePtrToInt(code.kernel_args(), builder.getInt64Ty());
  return block;
}

BlockStrip locate_strip(const ContractionFunction& code, const Ticket& ticket, llvm::Value* k0,
                        llvm::Value* k_size) {
  codegen::Builder& builder = code.builder();
  llvm::Value* is_read = builder.CreateICmpNE(
      code.region_slot(ticket.region, code.source().strategy.reads_strip), code.number(0));
  llvm::Value* rows = builder.CreateSelect(
      is_read, builder.CreateMul(ticket.rows.first_tiles, ticket.rows.first_rows), code.number(0));
  return {Strip(builder, code.source().isa, window_block(code, ticket, k0, k_size)), is_read, rows};
}

// Rows of A that are windows; the rows that full tiles read in a strip lie only there.
void copy_window_block(const ContractionFunction& code, const Ticket& ticket,
                       const BlockOfK& block) {
  codegen::Builder& builder = code.builder();
  const RegionValues& region = ticket.region;
  const StrategySlots& strategy = code.source().strategy;
  llvm::Value* function = move_function(code, strategy.a_move);
  if (!block.strip) {
    return call_window_copy(builder, function, window_block(code, ticket, block.start, block.size),
                            region.a_scratch, region.a_row);
  }
  Conditional strip(builder, block.strip->is_read, "strip");
  block.strip->strip.emit_copy(code.scratch(code.region_slot(region, strategy.strip_scratch)),
                               code.scratch(code.region_slot(region, strategy.offsets_scratch)));
  strip.close();
  WindowBlock others = block.strip->strip.block();
  others.first_row = builder.CreateAdd(others.first_row, block.strip->rows);
  others.rows = builder.CreateSub(others.rows, block.strip->rows);
  call_window_copy(builder, function, others, region.a_scratch, region.a_row);
}

// The elements along k of a block, which counts groups.
llvm::Value* elements_of_block(const ContractionFunction& code, const BlockOfK& block) {
  codegen::Builder& builder = code.builder();
  const ContractionSource& source = code.source();
  llvm::Value* size = code.number(rkernel::elements_of(source.contraction().group));
  llvm::Value* room = builder.CreateMul(block.size, size);
  if (!source.contraction().is_ragged()) return room;
  llvm::Value* left =
      builder.CreateSub(code.slot(source.slots.depth()), builder.CreateMul(block.start, size));
  return code.minimum(room, left);
}

// A's rows, whose last group is filled up.
void copy_ragged_block(const ContractionFunction& code, const Ticket& ticket,
                       const BlockOfK& block) {
  codegen::Builder& builder = code.builder();
  const ContractionSource& source = code.source();
  const rkernel::Contraction& contraction = source.contraction();
  llvm::Value* first =
      builder.CreateMul(block.start, code.number(rkernel::elements_of(contraction.group)));
  const StridedMatrix rows{element_of(builder, source.a_element(), block.factors.a, first),
                           code.stride(contraction.a, contraction.m), code.number(1), true,
                           source.a_element()};
  call_move(builder, move_function(code, source.strategy.a_move), rows, ticket.rows.rows.size,
            elements_of_block(code, block), ticket.region.a_scratch, ticket.region.a_row);
}

void compute_a_block(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block) {
  call_computed_factor(code.builder(), move_function(code, code.source().strategy.a_move),
                       code.kernel_args(),
                       {ticket.rows.rows.start, ticket.rows.rows.size, block.start, block.size,
                        ticket.region.a_scratch, ticket.region.a_row},
                       code.batch_of(ticket));
}

// A's rows.
void copy_a_block(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block) {
  const ContractionSource& source = code.source();
  if (source.a().window) return copy_window_block(code, ticket, block);
  if (source.contraction().a_value >= 0) return compute_a_block(code, ticket, block);
  if (source.contraction().is_ragged()) return copy_ragged_block(code, ticket, block);
  codegen::Builder& builder = code.builder();
  const bool unit = source.shape_class.a_unit;
  llvm::Value* stride_k = unit ? code.number(1)
                          : source.a_packed()
                              ? code.number(source.isa.panel_f32)
                              : code.stride(source.contraction().a, source.contraction().k);
  const DType dtype = source.a_step();
  const StridedMatrix rows{
      element_of(builder, dtype, block.factors.a, builder.CreateMul(block.start, stride_k)),
      block.factors.a_stride_m, stride_k, unit, dtype};
  call_move(builder, move_function(code, source.strategy.a_move), rows, ticket.rows.rows.size,
            block.size, ticket.region.a_scratch, ticket.region.a_row);
}

// B's few columns as rows, where all lanes run along K.
void copy_b_rows(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block) {
  codegen::Builder& builder = code.builder();
  const ContractionSource& source = code.source();
  const rkernel::Contraction& contraction = source.contraction();
  llvm::Value* stride_n =
      source.b_packed() ? code.number(1) : code.stride(contraction.b, contraction.n);
  llvm::Value* stride_k = source.b_packed() ? code.number(source.isa.panel_f32)
                                            : code.stride(contraction.b, contraction.k);
  const DType dtype = source.b_step();
  llvm::Value* corner =
      element_of(builder, dtype, block.factors.b, builder.CreateMul(block.start, stride_k));
  call_move(builder, move_function(code, source.strategy.b_move),
            {corner, stride_n, stride_k, false, dtype}, code.extent(contraction.n), block.size,
            ticket.region.b_scratch, ticket.region.a_row);
}

// B's panels; where B is read as it lies, the one that is cut.
void pack_b_block(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block) {
  codegen::Builder& builder = code.builder();
  const ContractionSource& source = code.source();
  const rkernel::Contraction& contraction = source.contraction();
  const bool unit = source.shape_class.b_unit;
  llvm::Value* width = code.number(source.isa.panel_f32);
  const codegen::Part& all = ticket.columns.panels;
  llvm::Value* stride_k = code.stride(contraction.b, contraction.k);
  llvm::Value* stride_n = unit ? code.number(1) : code.stride(contraction.b, contraction.n);
  llvm::Value* panels =
      builder.CreateSelect(ticket.region.direct_b, ticket.columns.cut_panels, all.size);
  llvm::Value* end = builder.CreateAdd(all.start, all.size);
  llvm::Value* column = builder.CreateMul(builder.CreateSub(end, panels), width);
  if (contraction.b_value >= 0) {
    return call_computed_factor(
        builder, move_function(code, source.strategy.b_move), code.kernel_args(),
        {block.start, block.size, column, builder.CreateSub(code.extent(contraction.n), column),
         ticket.region.b_scratch, panels},
        code.batch_of(ticket));
  }
  llvm::Value* corner = builder.CreateAdd(builder.CreateMul(block.start, stride_k),
                                          builder.CreateMul(column, stride_n));
  StridedMatrix matrix{element_of(builder, source.b_element(), block.factors.b, corner), stride_k,
                       stride_n, unit, source.b_element()};
  // A group's elements lie as far apart along k as groups do, divided by their number.
  if (source.grouped())
    matrix.row_stride = builder.CreateExactSDiv(
        stride_k, code.number(rkernel::elements_of(source.contraction().group)));
  call_move(builder, move_function(code, source.strategy.b_move), matrix,
            source.grouped() ? elements_of_block(code, block) : block.size,
            builder.CreateSub(code.extent(contraction.n), column), ticket.region.b_scratch, panels);
}

}  // namespace

BlockFactors locate_factors(const ContractionFunction& code, const Ticket& ticket) {
  codegen::Builder& builder = code.builder();
  const ContractionSource& source = code.source();
  const rkernel::Contraction& contraction = source.contraction();
  // A right side that was packed for lanes along n is one panel here: its columns are contiguous.
  llvm::Value* stride_m =
      source.a_packed() ? code.number(1) : code.stride(contraction.a, contraction.m);
  llvm::Value* row0 = builder.CreateMul(ticket.rows.rows.start, stride_m);
  llvm::Value* a = source.a_packed()
                       ? element_of(builder, source.a_step(), code.base(contraction.a), row0)
                       : element_of(builder, source.a_element(),
                                    matrix_of_batch(code, ticket, contraction.a), row0);
  if (contraction.is_ragged())
    stride_m = builder.CreateSDiv(stride_m, code.number(rkernel::elements_of(contraction.group)));
  llvm::Value* b =
      source.b_packed() ? code.base(contraction.b) : matrix_of_batch(code, ticket, contraction.b);
  return {a, stride_m, b};
}

BlockOfK locate_block_of_k(const ContractionFunction& code, const Ticket& ticket,
                           const BlockFactors& factors, llvm::Value* index) {
  codegen::Builder& builder = code.builder();
  llvm::Value* before = builder.CreateMul(index, ticket.region.block_k);
  llvm::Value* start = builder.CreateAdd(ticket.slice.start, before);
  llvm::Value* size =
      code.minimum(ticket.region.block_k, builder.CreateSub(ticket.slice.size, before));
  std::optional<BlockStrip> strip;
  if (code.source().shape_class.strips) strip.emplace(locate_strip(code, ticket, start, size));
  return {factors, index, start, size, strip};
}

void emit_block_move(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block,
                     const rkernel::Move& move) {
  const ContractionSource& source = code.source();
  if (move.operand == source.contraction().b)
    return source.shape_class.dot ? copy_b_rows(code, ticket, block)
                                  : pack_b_block(code, ticket, block);
  if (!source.shape_class.a_unit) return copy_a_block(code, ticket, block);
  Conditional wanted(code.builder(),
                     code.builder().CreateICmpNE(ticket.region.copy_a, code.number(0)), "copy_a");
  copy_a_block(code, ticket, block);
  wanted.close();
}

void copy_rest_of_b(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block) {
  codegen::Builder& builder = code.builder();
  const ContractionSource& source = code.source();
  const rkernel::Contraction& contraction = source.contraction();
  const bool unit = source.shape_class.b_unit;
  llvm::Value* count = ticket.region.rest_columns;
  Conditional rest(builder, ticket.columns.has_rest, "copy_rest");
  llvm::Value* n = code.extent(contraction.n);
  llvm::Value* column = builder.CreateSub(n, count);
  llvm::Value *stride_k = code.number(source.isa.panel_f32), *stride_n = code.number(1), *corner;
  const DType dtype = source.b_step();
  if (source.b_packed()) {
    llvm::Value* panel_column = builder.CreateURem(column, code.number(source.isa.panel_f32));
    llvm::Value* panel =
        builder.CreateMul(builder.CreateSub(column, panel_column), code.extent(contraction.k));
    corner = builder.CreateAdd(builder.CreateAdd(panel, builder.CreateMul(block.start, stride_k)),
                               panel_column);
  } else {
    stride_k = code.stride(contraction.b, contraction.k);
    stride_n = unit ? code.number(1) : code.stride(contraction.b, contraction.n);
    corner = builder.CreateAdd(builder.CreateMul(block.start, stride_k),
                               builder.CreateMul(column, stride_n));
  }
  const StridedMatrix columns{element_of(builder, dtype, block.factors.b, corner), stride_k,
                              stride_n, source.b_packed() || unit, dtype};
  call_move(builder, move_function(code, source.strategy.rest_move), columns, block.size, count,
            code.scratch(code.region_slot(ticket.region, source.strategy.rest_place)),
            ticket.region.a_row);
  rest.close();
}

}  // namespace dyn::cpu
