// Blocks of keys that lie with stride 1 along d: as dot products for few rows, or transposed into panels.

#include <llvm/IR/Intrinsics.h>

#include "targets/cpu/attention_rows.hpp"
#include "targets/llvm/loops.hpp"
#include "targets/llvm/transpose.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;
using codegen::Conditional;
using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

// How far ahead of those at work keys are asked for: the latency of memory. With each vector goes one request, as many at once would make the
// arithmetic wait.
constexpr int floats_ahead = 2048;

/// For each group of lanes: the first (second) half of a's, then that of b's.
llvm::Value* halves(Builder& builder, llvm::Value* a, llvm::Value* b, int lanes, int group, bool second) {
  std::vector<int> mask;
  for (int start = 0; start < lanes; start += group) {
    for (const int from : {0, lanes}) {
      for (int i = 0; i < group / 2; ++i) mask.push_back(from + start + (second ? group / 2 : 0) + i);
    }
  }
  return builder.CreateShuffleVector(a, b, mask);
}

/// One vector of the sums across each of as many vectors as there are lanes. Two vectors at a time, the halves of each group of lanes are
/// added: after the step with groups of g lanes, a vector holds g / 2 partial sums of each of lanes / (g / 2) vectors.
llvm::Value* sums_across(VectorCode& code, Values vectors) {
  Builder& builder = code.builder();
  for (int group = code.lanes(); group > 1; group /= 2) {
    Values next;
    const std::size_t half = vectors.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
      llvm::Value *a = vectors[i], *b = vectors[i + half];
      next.push_back(builder.CreateFAdd(halves(builder, a, b, code.lanes(), group, false), halves(builder, a, b, code.lanes(), group, true)));
    }
    vectors = std::move(next);
  }
  return vectors[0];
}

/// The rows of keys [first, first + lanes): `last`, where given, stands in for those beyond it.
Values key_rows(VectorCode& code, const KeyBlock& block, llvm::Value* first, llvm::Value* last) {
  Builder& builder = code.builder();
  Values rows;
  for (int i = 0; i < code.lanes(); ++i) {
    llvm::Value* key = builder.CreateAdd(first, code.number(i));
    if (last != nullptr) key = code.minimum(key, last);
    rows.push_back(code.element(block.data, builder.CreateMul(key, block.row_stride)));
  }
  return rows;
}

/// Adds the products of the vector at `offset` of each key.
Values add_products(VectorCode& code, const Values& keys, llvm::Value* q, llvm::Value* offset, llvm::Value* lanes, const Values& so_far) {
  llvm::Value* query = code.load_vector(code.element(q, offset));
  Values next;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    next.push_back(code.fused(query, code.load_vector(code.element(keys[i], offset), lanes), so_far[i]));
  }
  return next;
}

/// Key after key, each from its first vector to its last: the order in which they lie, which hardware foresees. `ahead`, where given, is the
/// distance in floats of keys to ask for.
llvm::Value* dots_of(VectorCode& code, const KeyBlock& block, const Values& keys, llvm::Value* q, llvm::Value* ahead) {
  Builder& builder = code.builder();
  llvm::Value* whole = code.round_down(block.depth, code.lanes());
  Values sums;
  for (llvm::Value* key : keys) {
    llvm::Value* none = code.splat(0.0);
    CountedLoop vectors(builder, code.number(0), whole, code.number(code.lanes()), "dot", std::span(&none, 1));
    llvm::Value* address = code.element(key, vectors.index());
    if (ahead != nullptr) codegen::prefetch(builder, code.element(address, ahead));
    llvm::Value* sum = code.fused(code.load_vector(code.element(q, vectors.index())), code.load_vector(address), vectors.carried(0));
    sums.push_back(vectors.close(std::span(&sum, 1))[0]);
  }
  llvm::Value* rest = builder.CreateSub(block.depth, whole);
  Conditional tail(builder, builder.CreateICmpSGT(rest, code.number(0)), "dot_tail");
  const Values more = add_products(code, keys, q, whole, code.first_lanes(rest), sums);
  return sums_across(code, tail.close(more, sums));
}

/// The keys of a group times all rows. The first row brings them near; addresses beyond the last key are only hints.
void emit_group(VectorCode& code, const KeyBlock& block, llvm::Value* first, llvm::Value* last, llvm::Value* q, llvm::Value* q_row,
                llvm::Value* rows, llvm::Value* scores, llvm::Value* score_row) {
  Builder& builder = code.builder();
  const Values keys = key_rows(code, block, first, last);
  llvm::Value* keys_ahead = builder.CreateUDiv(code.number(floats_ahead), code.maximum(block.depth, code.number(1)));
  llvm::Value* ahead = last == nullptr ? builder.CreateMul(keys_ahead, block.row_stride) : nullptr;
  code.store(dots_of(code, block, keys, q, ahead), code.element(scores, first));
  CountedLoop row(builder, code.number(1), rows, code.number(1), "dot_row");
  llvm::Value* query = code.element(q, builder.CreateMul(row.index(), q_row));
  llvm::Value* dots = dots_of(code, block, keys, query, nullptr);
  code.store(dots, code.element(code.element(scores, builder.CreateMul(row.index(), score_row)), first));
  row.close();
}

}  // namespace

void emit_dots(VectorCode& code, const KeyBlock& block, llvm::Value* q, llvm::Value* q_row, llvm::Value* rows, llvm::Value* scores,
               llvm::Value* score_row) {
  Builder& builder = code.builder();
  llvm::Value* whole = code.round_down(block.keys, code.lanes());
  CountedLoop groups(builder, code.number(0), whole, code.number(code.lanes()), "dots");
  emit_group(code, block, groups.index(), nullptr, q, q_row, rows, scores, score_row);
  groups.close();
  Conditional tail(builder, builder.CreateICmpSLT(whole, block.keys), "dots_tail");
  emit_group(code, block, whole, builder.CreateSub(block.keys, code.number(1)), q, q_row, rows, scores, score_row);
  tail.close();
}

void emit_key_panels(VectorCode& code, const KeyBlock& block, llvm::Value* to, llvm::Value* panel_stride) {
  Builder& builder = code.builder();
  const std::int64_t lanes = code.lanes(), panel = code.isa().panel_f32;
  CountedLoop groups(builder, code.number(0), block.keys, code.number(lanes), "key_group");
  const Values keys = key_rows(code, block, groups.index(), builder.CreateSub(block.keys, code.number(1)));
  llvm::Value* panel_index = builder.CreateUDiv(groups.index(), code.number(panel));
  llvm::Value* target = code.element(to, builder.CreateMul(panel_index, panel_stride));
  target = code.element(target, builder.CreateURem(groups.index(), code.number(panel)));
  code.for_each_vector(block.depth, "key_square", [&](llvm::Value* offset, llvm::Value* mask) {
    Values rows;
    for (llvm::Value* key : keys) rows.push_back(code.load_vector(code.element(key, offset), mask));
    llvm::Value* first = code.element(target, builder.CreateMul(offset, code.number(panel)));
    const Values columns = codegen::transpose(builder, rows);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      code.store(columns[i], code.element(first, code.number(static_cast<std::int64_t>(i) * panel)));
    }
  });
  groups.close();
}

}  // namespace dyn::cpu
