// Blocks of keys that lie with stride 1 along d: as dot products for few rows, or transposed into
// panels.

#include <llvm/IR/Intrinsics.h>

#include "src/base/bytes.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "targets/cpu/attention/rows.hpp"
#include "targets/cpu/tile/widening.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/code/transpose.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;
using codegen::Conditional;
using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

/// For each group of lanes: the first (second) half of a's, then that of b's.
llvm::Value* halves(Builder& builder, llvm::Value* a, llvm::Value* b, int lanes, int group,
                    bool second) {
  std::vector<int> mask;
  for (int start = 0; start < lanes; start += group) {
    for (const int from : {0, lanes}) {
      for (int i = 0; i < group / 2; ++i)
        mask.push_back(from + start + (second ? group / 2 : 0) + i);
    }
  }
  return builder.CreateShuffleVector(a, b, mask);
}

/// One vector of the sums across each of as many vectors as there are lanes. Two vectors at a time,
/// the halves of each group of lanes are added: after the step with groups of g lanes, a vector
/// holds g / 2 partial sums of each of lanes / (g / 2) vectors.
llvm::Value* sums_across(VectorCode& code, Values vectors) {
  Builder& builder = code.builder();
  for (int group = code.lanes(); group > 1; group /= 2) {
    Values next;
    const std::size_t half = vectors.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
      llvm::Value *a = vectors[i], *b = vectors[i + half];
      next.push_back(builder.CreateFAdd(halves(builder, a, b, code.lanes(), group, false),
                                        halves(builder, a, b, code.lanes(), group, true)));
    }
    vectors = std::move(next);
  }
  return vectors[0];
}

}  // namespace

std::vector<llvm::Value*> key_rows(VectorCode& code, const KeyBlock& block, llvm::Value* first,
                                   llvm::Value* last) {
  Builder& builder = code.builder();
  Values rows;
  for (int i = 0; i < code.lanes(); ++i) {
    llvm::Value* key = builder.CreateAdd(first, code.number(i));
    if (last != nullptr) key = code.minimum(key, last);
    rows.push_back(
        element_of(builder, block.dtype, block.data, builder.CreateMul(key, block.row_stride)));
  }
  return rows;
}

namespace {

/// A vector of a key's elements; 0 where the mask is false.
llvm::Value* load_keys(VectorCode& code, DType dtype, llvm::Value* key, llvm::Value* offset,
                       llvm::Value* mask) {
  return load_widened(code.builder(), dtype, element_of(code.builder(), dtype, key, offset),
                      code.lanes(), mask);
}

/// Adds the products of the vector at `offset` of each key.
Values add_products(VectorCode& code, DType dtype, const Values& keys, llvm::Value* q,
                    llvm::Value* offset, llvm::Value* lanes, const Values& so_far) {
  llvm::Value* query = code.load_vector(code.element(q, offset));
  Values next;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    next.push_back(code.fused(query, load_keys(code, dtype, keys[i], offset, lanes), so_far[i]));
  }
  return next;
}

/// A part of the depth that is read in steps of so many vectors.
struct Depth {
  llvm::Value *begin, *end;
  int vectors;
};

/// Adds to `sums` the products of keys over that depth. `ahead`, where given, is the distance in
/// elements of keys to ask for.
Values add_dots(VectorCode& code, DType dtype, std::span<llvm::Value* const> keys, llvm::Value* q,
                const Depth& depth, llvm::Value* ahead, const Values& sums) {
  Builder& builder = code.builder();
  CountedLoop steps(builder, depth.begin, depth.end, code.number(depth.vectors * code.lanes()),
                    "dot", sums);
  Values next;
  for (std::size_t i = 0; i < keys.size(); ++i) next.push_back(steps.carried(i));
  for (int vector = 0; vector < depth.vectors; ++vector) {
    llvm::Value* offset = builder.CreateAdd(steps.index(), code.number(vector * code.lanes()));
    llvm::Value* query = code.load_vector(code.element(q, offset));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (ahead != nullptr && vector == 0)
        codegen::prefetch(builder,
                          element_of(builder, dtype, keys[i], builder.CreateAdd(offset, ahead)));
      next[i] = code.fused(query, load_keys(code, dtype, keys[i], offset, nullptr), next[i]);
    }
  }
  return steps.close(next);
}

/// The dot products of a group, `together` keys at a time: all of them where the keys are near.
llvm::Value* dots_of(VectorCode& code, const KeyBlock& block, const Values& keys, llvm::Value* q,
                     std::size_t together, llvm::Value* ahead) {
  Builder& builder = code.builder();
  const int line_vectors = std::max(1, static_cast<int>(line_floats) / code.lanes());
  llvm::Value* lines = code.round_down(block.depth, line_vectors * code.lanes());
  llvm::Value* whole = code.round_down(block.depth, code.lanes());
  Values sums;
  for (std::size_t first = 0; first < keys.size(); first += together) {
    const auto some = std::span(keys).subspan(first, together);
    Values added = add_dots(code, block.dtype, some, q, {code.number(0), lines, line_vectors},
                            ahead, Values(together, code.splat(0.0)));
    if (line_vectors > 1)
      added = add_dots(code, block.dtype, some, q, {lines, whole, 1}, nullptr, added);
    sums.insert(sums.end(), added.begin(), added.end());
  }
  llvm::Value* rest = builder.CreateSub(block.depth, whole);
  Conditional tail(builder, builder.CreateICmpSGT(rest, code.number(0)), "dot_tail");
  const Values more = add_products(code, block.dtype, keys, q, whole, code.first_lanes(rest), sums);
  return sums_across(code, tail.close(more, sums));
}

/// Multiplies the keys of a group by all rows. The first row brings whole groups near; addresses
/// beyond the last key are only hints.
void emit_group(VectorCode& code, const KeyBlock& block, llvm::Value* first, llvm::Value* last,
                llvm::Value* q, llvm::Value* q_row, llvm::Value* rows, llvm::Value* scores,
                llvm::Value* score_row) {
  Builder& builder = code.builder();
  const Values keys = key_rows(code, block, first, last);
  llvm::Value* begin = code.number(0);
  if (last == nullptr) {
    llvm::Value* keys_ahead =
        builder.CreateUDiv(code.number(choice::default_calibration().prefetch_keys),
                           code.maximum(block.depth, code.number(1)));
    // Hardware foresees keys that are read in the order in which they lie. Where vectors are
    // narrow, two keys share the query's vectors, whose loads keys that are near would wait for.
    const std::size_t together = code.lanes() < line_floats ? 2 : 1;
    code.store(
        dots_of(code, block, keys, q, together, builder.CreateMul(keys_ahead, block.row_stride)),
        code.element(scores, first));
    begin = code.number(1);
  }
  CountedLoop row(builder, begin, rows, code.number(1), "dot_row");
  llvm::Value* query = code.element(q, builder.CreateMul(row.index(), q_row));
  llvm::Value* dots = dots_of(code, block, keys, query, keys.size(), nullptr);
  code.store(dots,
             code.element(code.element(scores, builder.CreateMul(row.index(), score_row)), first));
  row.close();
}

}  // namespace

void emit_dots(VectorCode& code, const KeyBlock& block, llvm::Value* q, llvm::Value* q_row,
               llvm::Value* rows, llvm::Value* scores, llvm::Value* score_row) {
  Builder& builder = code.builder();
  llvm::Value* whole = code.round_down(block.keys, code.lanes());
  CountedLoop groups(builder, code.number(0), whole, code.number(code.lanes()), "dots");
  emit_group(code, block, groups.index(), nullptr, q, q_row, rows, scores, score_row);
  groups.close();
  Conditional tail(builder, builder.CreateICmpSLT(whole, block.keys), "dots_tail");
  emit_group(code, block, whole, builder.CreateSub(block.keys, code.number(1)), q, q_row, rows,
             scores, score_row);
  tail.close();
}

void emit_key_panels(VectorCode& code, const KeyBlock& block, llvm::Value* to,
                     llvm::Value* panel_stride) {
  Builder& builder = code.builder();
  const std::int64_t lanes = code.lanes(), panel = code.isa().panel_f32;
  CountedLoop groups(builder, code.number(0), block.keys, code.number(lanes), "key_group");
  const Values keys =
      key_rows(code, block, groups.index(), builder.CreateSub(block.keys, code.number(1)));
  llvm::Value* panel_index = builder.CreateUDiv(groups.index(), code.number(panel));
  llvm::Value* target = code.element(to, builder.CreateMul(panel_index, panel_stride));
  target = code.element(target, builder.CreateURem(groups.index(), code.number(panel)));
  code.for_each_vector(block.depth, "key_square", [&](llvm::Value* offset, llvm::Value* mask) {
    Values rows;
    for (llvm::Value* key : keys) rows.push_back(load_keys(code, block.dtype, key, offset, mask));
    llvm::Value* first = code.element(target, builder.CreateMul(offset, code.number(panel)));
    const Values columns = codegen::transpose(builder, rows);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      code.store(columns[i],
                 code.element(first, code.number(static_cast<std::int64_t>(i) * panel)));
    }
  });
  groups.close();
}

}  // namespace dyn::cpu
