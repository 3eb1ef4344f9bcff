#include "targets/cpu/attention/emitter.hpp"

#include <llvm/IR/Module.h>

#include <optional>

#include "targets/cpu/attention/carried.hpp"
#include "targets/cpu/attention/products.hpp"
#include "targets/cpu/attention/rows.hpp"
#include "targets/cpu/tile/widening.hpp"

namespace dyn::cpu {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;

/// Copies the ticket's queries to scratch, scaled.
void copy_queries(AttentionFunction& function, const AttentionSizes& sizes,
                  const AttentionTicket& ticket) {
  codegen::Builder& builder = function.builder;
  const rkernel::Attention& attention = function.attention;
  Value* row_stride = function.stride(attention.q, attention.m);
  Value* first = builder.CreateMul(ticket.block.start, row_stride);
  const DType dtype = function.dtype_of(attention.q);
  Value* data = element_of(builder, dtype, function.batch_base(ticket.batch, attention.q), first);
  Value* scale = builder.CreateBitCast(
      builder.CreateTrunc(function.slot(function.strategy.scale), builder.getInt32Ty()),
      builder.getFloatTy());
  emit_scaled_rows(
      function.code,
      {data, row_stride, function.stride(attention.q, attention.d), function.shape_class.q_unit,
       ticket.block.size, sizes.depth, scale, dtype, function.shape_class.pairs},
      function.scratch_at(function.strategy.q_scratch), sizes.q_row);
}

AttentionBases bases_of(AttentionFunction& function, const AttentionTicket& ticket) {
  const rkernel::Attention& attention = function.attention;
  const auto base = [&](int operand) {
    return operand >= 0 ? function.batch_base(ticket.batch, operand) : nullptr;
  };
  return {base(attention.k), base(attention.v), base(attention.mask), base(attention.k_scales),
          base(attention.v_scales)};
}

/// The step of the online softmax for each row of a tile.
void emit_softmax(AttentionFunction& function, const AttentionSizes& sizes,
                  const CarriedRows& carried, const AttentionBases& bases,
                  const AttentionKeys& keys, const AttentionTile& tile) {
  codegen::Builder& builder = function.builder;
  VectorCode& code = function.code;
  const rkernel::Attention& attention = function.attention;
  CountedLoop rows(builder, code.number(0), tile.rows.size, code.number(1), "softmax_row");
  Value* row = builder.CreateAdd(tile.first_row, rows.index());
  Value* in_block = builder.CreateAdd(tile.rows.start, rows.index());
  ScoreRow score{};
  score.scores = code.element(sizes.scores, builder.CreateMul(rows.index(), sizes.score_row));
  score.visible = attention.causal
                      ? visible_keys(function, sizes, keys, builder.CreateAdd(row, code.number(1)))
                      : tile.keys;
  score.total = tile.keys;
  if (attention.mask >= 0) {
    score.mask_stride = function.stride(attention.mask, attention.keys);
    Value* offset =
        builder.CreateAdd(builder.CreateMul(row, function.stride(attention.mask, attention.m)),
                          builder.CreateMul(keys.first, score.mask_stride));
    score.mask = code.element(bases.mask, offset);
  }
  if (bases.key_scales != nullptr) {
    score.key_scales = code.element(bases.key_scales, keys.first);
    score.value_scales = code.element(bases.value_scales, keys.first);
  }
  score.pairs = function.shape_class.pairs;
  score.maximum = carried.maximum_of(in_block);
  score.sum = carried.sum_of(in_block);
  score.accumulator = carried.accumulator_of(in_block);
  score.accumulator_columns = sizes.acc_row;
  emit_softmax_step(code, function.math, function.shape_class.mask, score);
  rows.close();
}

/// Writes one ticket while rkernel::walk goes through the tree: what each layer works on is made as
/// its loop opens, and handed on to what is inside.
class AttentionWalk final : public rkernel::Emitter {
 public:
  AttentionWalk(AttentionFunction& function, const AttentionSizes& sizes,
                const AttentionTicket& ticket)
      : function_(function),
        sizes_(sizes),
        ticket_(ticket),
        carried_(function, sizes),
        products_(function, sizes) {}

  void open(int layer, const rkernel::Loop&) override {
    if (layer == attention_l2) {
      carried_.clear(ticket_);
      loops_.emplace_back(function_.builder, ticket_.first_key, ticket_.end_key, sizes_.block_keys,
                          "keys");
      keys_ = keys_from(function_, sizes_, ticket_, bases_.value(), loops_.back().index());
    } else if (layer == attention_l1) {
      Value* tiles = tiles_of(function_, sizes_, ticket_);
      loops_.emplace_back(function_.builder, function_.number(0), tiles, function_.number(1),
                          "rows");
      tile_ = tile_at(function_, sizes_, ticket_, keys_.value(), tiles, loops_.back().index());
    }
  }

  void close(int layer, const rkernel::Loop&) override {
    if (layer == attention_threads) return;
    loops_.back().close();
    loops_.pop_back();
    if (layer == attention_l2) carried_.finish(ticket_);
  }

  void move(int, const rkernel::Move& move) override {
    const rkernel::Attention& attention = function_.attention;
    if (move.operand == attention.q) {
      copy_queries(function_, sizes_, ticket_);
      bases_ = bases_of(function_, ticket_);
    }
    if (move.operand == attention.k) products_.pack_keys(keys_.value());
    if (move.operand == attention.v) products_.pack_values(keys_.value());
  }

  void leaf(const rkernel::Layer&) override {
    const AttentionKeys& keys = keys_.value();
    const AttentionTile& tile = tile_.value();
    codegen::Builder& builder = function_.builder;
    Conditional any(builder, builder.CreateICmpSGT(tile.keys, function_.number(0)), "visible");
    products_.emit_scores(keys, tile);
    emit_softmax(function_, sizes_, carried_, bases_.value(), keys, tile);
    products_.add_values(keys, tile, carried_.accumulator_of(tile.rows.start));
    any.close();
  }

 private:
  AttentionFunction& function_;
  const AttentionSizes& sizes_;
  const AttentionTicket& ticket_;
  const CarriedRows carried_;
  const AttentionProducts products_;
  std::vector<CountedLoop> loops_;  ///< that are open
  std::optional<AttentionBases> bases_;
  std::optional<AttentionKeys> keys_;
  std::optional<AttentionTile> tile_;
};

}  // namespace

void emit_attention(llvm::Module& module, const std::string& symbol, const rkernel::RKernel& kernel,
                    const codegen::Isa& isa, const codegen::SlotTable& slots,
                    const AttentionSlots& strategy, const AttentionClass& shape_class) {
  rkernel::legalise(kernel, {});
  AttentionFunction function(module, symbol, kernel, isa, slots, strategy, shape_class);
  const AttentionSizes sizes(function);
  codegen::Builder& builder = function.builder;
  Value* first = function.function->getArg(1);
  CountedLoop tickets(builder, first, builder.CreateAdd(first, function.function->getArg(2)),
                      function.number(1), "ticket");
  const AttentionTicket ticket = locate_ticket(function, sizes, tickets.index());
  AttentionWalk walk(function, sizes, ticket);
  rkernel::walk(kernel, walk);
  tickets.close();
  builder.CreateRetVoid();
}

}  // namespace dyn::cpu
