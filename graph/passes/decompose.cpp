// Compound operators to primitives.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <unordered_map>

#include "graph/fusion/group.hpp"
#include "graph/passes/decompose_conv_pool.hpp"
#include "graph/passes/products/decompose_blocks.hpp"
#include "graph/passes/products/decompose_narrow.hpp"
#include "graph/passes/products/fill_groups.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

/// One concat has no more.
constexpr std::size_t most_parts = 64;

/// Shorthand for nodes over one tensor type.
class Splitter {
 public:
  Splitter(Rewriter& rewriter, const Node& node) : rewriter_(rewriter), node_(node) {}

  void softmax();
  void layer_norm();
  void rms_norm();
  void gelu();
  void silu();
  void split();
  void concat();
  void attention();
  void matmul();
  void power();

 private:
  const TensorType& type(ValueId id) const { return rewriter_.type(id); }
  ValueId input(std::size_t i) const { return node_.inputs[i]; }
  ValueId output() const { return node_.outputs[0]; }
  Dim integer(std::int64_t value) { return rewriter_.module().dims->constant(value); }

  /// op(inputs) with the type of the first input.
  ValueId map(std::string_view op, std::vector<ValueId> inputs, ValueId output = no_value) {
    TensorType same = type(inputs[0]);
    return rewriter_.emit(op, std::move(inputs), std::move(same), {}, output);
  }
  /// A scalar of x's dtype.
  ValueId number(ValueId x, double value) { return rewriter_.number(type(x).dtype, value); }
  ValueId scaled(ValueId x, double factor) { return map("mul", {x, number(x, factor)}); }
  ValueId reduce(std::string_view op, ValueId x, int axis) {
    TensorType reduced = type(x);
    reduced.dims[static_cast<std::size_t>(axis)] = integer(1);
    return rewriter_.emit(op, {x}, std::move(reduced),
                          {{"axes", std::vector<Dim>{integer(axis)}}, {"keepdims", true}});
  }
  ValueId reshape(ValueId x, std::vector<Dim> dims) {
    return rewriter_.emit("reshape", {x}, {type(x).dtype, dims}, {{"shape", dims}});
  }
  /// x where it is not `special`, else `other`.
  ValueId unless(ValueId x, double special, double other) {
    const ValueId hit =
        rewriter_.emit("equal", {x, number(x, special)}, {DType::boolean, type(x).dims});
    return rewriter_.emit("where", {hit, number(x, other), x}, type(x));
  }
  ValueId masked_softmax(ValueId x);
  ValueId range(Dim start, Dim end);
  ValueId default_scale(Dim depth);
  ValueId causal(ValueId scores);

  Rewriter& rewriter_;
  const Node& node_;
};

void Splitter::softmax() {
  rewriter_.begin(node_, "softmax");
  const int axis = *normalize_axis(attr_integer(node_, "axis"), type(input(0)).rank());
  const ValueId shifted = map("sub", {input(0), reduce("reduce_max", input(0), axis)});
  const ValueId raised = map("exp", {shifted});
  map("div", {raised, reduce("reduce_sum", raised, axis)}, output());
}

/// Softmax over the last axis that gives 0 where every element of a row is -inf.
ValueId Splitter::masked_softmax(ValueId x) {
  rewriter_.begin(node_, "softmax");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const int axis = type(x).rank() - 1;
  const ValueId peak = unless(reduce("reduce_max", x, axis), -infinity, 0);
  const ValueId raised = map("exp", {map("sub", {x, peak})});
  return map("div", {raised, unless(reduce("reduce_sum", raised, axis), 0, 1)});
}

void Splitter::layer_norm() {
  rewriter_.begin(node_, "layer_norm");
  const int axis = type(input(0)).rank() - 1;
  const ValueId centred = map("sub", {input(0), reduce("reduce_mean", input(0), axis)});
  const ValueId variance = reduce("reduce_mean", map("mul", {centred, centred}), axis);
  const ValueId factor =
      map("rsqrt", {map("add", {variance, number(variance, attr_number(node_, "epsilon"))})});
  const ValueId scaled = map("mul", {map("mul", {centred, factor}), input(1)});
  map("add", {scaled, input(2)}, output());
}

void Splitter::rms_norm() {
  rewriter_.begin(node_, "rms_norm");
  const ValueId mean =
      reduce("reduce_mean", map("mul", {input(0), input(0)}), type(input(0)).rank() - 1);
  const ValueId factor =
      map("rsqrt", {map("add", {mean, number(mean, attr_number(node_, "epsilon"))})});
  map("mul", {map("mul", {input(0), factor}), input(1)}, output());
}

void Splitter::gelu() {
  rewriter_.begin(node_, "gelu");
  const ValueId x = input(0);
  ValueId curve = no_value;
  if (attr_word(node_, "approximate") == "tanh") {
    const ValueId cube = map("mul", {map("mul", {x, x}), x});
    curve = map("tanh",
                {scaled(map("add", {x, scaled(cube, 0.044715)}), std::sqrt(2 / std::numbers::pi))});
  } else {
    curve = map("erf", {scaled(x, 1 / std::numbers::sqrt2)});
  }
  map("mul", {scaled(x, 0.5), map("add", {curve, number(curve, 1)})}, output());
}

void Splitter::silu() {
  rewriter_.begin(node_, "silu");
  map("mul", {input(0), map("sigmoid", {input(0)})}, output());
}

void Splitter::split() {
  rewriter_.begin(node_, "");
  const int axis = *normalize_axis(attr_integer(node_, "axis"), type(input(0)).rank());
  Dim start = integer(0);
  for (const ValueId part : node_.outputs) {
    const Dim end = start + type(part).dims[static_cast<std::size_t>(axis)];
    rewriter_.emit("slice", {input(0)}, type(part),
                   {{"axes", std::vector<Dim>{integer(axis)}},
                    {"starts", std::vector<Dim>{start}},
                    {"ends", std::vector<Dim>{end}}},
                   part);
    start = end;
  }
}

/// Puts many parts side by side in several steps: one kernel reads all parts of a concat, and takes
/// the more time to compile the more they are.
void Splitter::concat() {
  rewriter_.begin(node_, node_.origin);
  const auto axis =
      static_cast<std::size_t>(*normalize_axis(attr_integer(node_, "axis"), type(output()).rank()));
  const auto joined = [&](std::span<const ValueId> parts, ValueId result) {
    TensorType whole = type(parts.front());
    for (const ValueId part : parts.subspan(1))
      whole.dims[axis] = whole.dims[axis] + type(part).dims[axis];
    return rewriter_.emit("concat", {parts.begin(), parts.end()}, std::move(whole),
                          {{"axis", integer(static_cast<std::int64_t>(axis))}}, result);
  };
  std::vector<ValueId> parts = node_.inputs;
  while (parts.size() > most_parts) {
    std::vector<ValueId> fewer;
    for (std::size_t i = 0; i < parts.size(); i += most_parts) {
      const std::span some = std::span(parts).subspan(i, std::min(most_parts, parts.size() - i));
      fewer.push_back(some.size() == 1 ? some.front() : joined(some, no_value));
    }
    parts = std::move(fewer);
  }
  joined(parts, output());
}

ValueId Splitter::range(Dim start, Dim end) {
  return rewriter_.emit("range", {}, {DType::i64, {end - start}}, {{"start", start}, {"end", end}});
}

/// 1 / sqrt(depth), as a scalar where the depth is known, else as a tensor of one element.
ValueId Splitter::default_scale(Dim depth) {
  if (const auto known = depth.constant())
    return rewriter_.number(DType::f32, 1 / std::sqrt(static_cast<double>(*known)));
  const TensorType one{DType::f32, {integer(1)}};
  const ValueId value = rewriter_.emit("range", {}, {DType::i64, {integer(1)}},
                                       {{"start", depth}, {"end", depth + 1}});
  return map("rsqrt", {rewriter_.emit("cast", {value}, one, {{"dtype", std::string("f32")}})});
}

/// -inf where the key comes after the query; the last query sees the last key.
ValueId Splitter::causal(ValueId scores) {
  const TensorType score = type(scores);
  const Dim queries = score.dims[score.dims.size() - 2], keys = score.dims.back();
  const ValueId query = reshape(range(keys - queries, keys), {queries, integer(1)});
  const ValueId key = reshape(range(integer(0), keys), {integer(1), keys});
  const ValueId seen =
      rewriter_.emit("less_equal", {key, query}, {DType::boolean, {queries, keys}});
  return rewriter_.emit(
      "where", {seen, scores, number(scores, -std::numeric_limits<double>::infinity())}, score);
}

void Splitter::attention() {
  rewriter_.begin(node_, "attention");
  const ValueId q = input(0), k = input(1), v = input(2);
  TensorType score = type(q);
  score.dims.back() = type(k).dims[type(k).dims.size() - 2];
  ValueId scores = rewriter_.emit("matmul", {q, k}, score, {{"transpose_b", true}});
  const double scale = attr_number(node_, "scale");
  scores =
      map("mul", {scores, scale == 0 ? default_scale(type(q).dims.back()) : number(scores, scale)});
  if (node_.inputs.size() > 3) scores = map("add", {scores, input(3)});
  if (attr_boolean(node_, "causal")) scores = causal(scores);
  const ValueId shares = masked_softmax(scores);
  rewriter_.begin(node_, "attention");
  rewriter_.emit("matmul", {shares, v}, type(output()), {}, output());
}

/// Computes a matmul as sums of products of all pairs of a row and a column, since targets contract
/// f32 alone. Nothing is transposed in memory, and both sides are read along their last axes.
void Splitter::matmul() {
  rewriter_.begin(node_, "matmul");
  const bool along_k =
      attr_boolean(node_, "transpose_b");  // else along the columns, one row of b after the other
  const auto with_one = [&](ValueId x, std::ptrdiff_t from_end) {
    std::vector<Dim> dims = type(x).dims;
    dims.insert(dims.end() - from_end, integer(1));
    return reshape(x, std::move(dims));
  };
  const ValueId rows =
      attr_boolean(node_, "transpose_a") ? emit_turned(rewriter_, input(0)) : input(0);
  TensorType products = type(output());
  const Dim k = type(rows).dims.back();
  products.dims.insert(products.dims.end() - (along_k ? 0 : 1), k);
  const ValueId product =
      rewriter_.emit("mul", {with_one(rows, along_k ? 1 : 0), with_one(input(1), 2)}, products);
  const int axis = products.rank() - (along_k ? 1 : 2);
  rewriter_.emit("reduce_sum", {product}, type(output()),
                 {{"axes", std::vector<Dim>{integer(axis)}}, {"keepdims", false}}, output());
}

/// The exponent of a power that is a product of two or three factors, else 0. A product has a
/// rounding for each factor but one, which shows in 16 bits.
int factors_of_power(const Module& module, const Node& node) {
  const Value& exponent = module.value(node.inputs[1]);
  const DType dtype = module.value(node.outputs[0]).type.dtype;
  if (exponent.kind != ValueKind::Constant || module.value(node.inputs[0]).type.dtype != dtype)
    return 0;
  for (const int count : {2, 3}) {
    const bool is_exact = count == 2 || !is_float(dtype) || size_of(dtype) >= sizeof(float);
    if (is_exact && (is_float(dtype) ? exponent.constant == count : exponent.integer == count))
      return count;
  }
  return 0;
}

void Splitter::power() {
  rewriter_.begin(node_, node_.origin);
  const ValueId x = input(0);
  if (factors_of_power(rewriter_.module(), node_) == 2)
    map("mul", {x, x}, output());
  else
    map("mul", {map("mul", {x, x}), x}, output());
}

/// Keys and values of fewer bits than queries become numbers like these.
void widen_keys(Rewriter& rewriter, Node& node) {
  const DType dtype = rewriter.type(node.inputs[0]).dtype;
  rewriter.begin(node, node.origin);
  const bool scaled = attr_boolean(node, "scales");
  for (const std::size_t index : {std::size_t{1}, std::size_t{2}}) {
    const std::vector<Dim> dims = rewriter.type(node.inputs[index]).dims;
    if (rewriter.type(node.inputs[index]).dtype == dtype) continue;
    node.inputs[index] = rewriter.emit("cast", {node.inputs[index]}, {dtype, dims},
                                       {{"dtype", std::string(name_of(dtype))}});
    if (scaled)
      node.inputs[index] =
          rewriter.emit("mul", {node.inputs[index], node.inputs[index + 2]}, {dtype, dims});
  }
  if (!scaled) return;
  node.inputs.erase(node.inputs.begin() + 3, node.inputs.begin() + 5);
  std::erase_if(node.attrs, [](const Attr& attr) { return attr.name == "scales"; });
}

/// Kernels of attention read their mask from memory, where numbers of the module do not lie.
void store_mask(Rewriter& rewriter, Node& node) {
  ValueId& mask = node.inputs.back();
  if (rewriter.module().value(mask).kind != ValueKind::Constant) return;
  rewriter.begin(node, node.origin);
  const std::vector<Dim> one{rewriter.module().dims->constant(1)};
  mask = rewriter.emit("expand", {mask}, {rewriter.type(mask).dtype, one}, {{"shape", one}});
}

using Split = void (Splitter::*)();
const std::unordered_map<OpId, Split> splits = {
    {OpId::Softmax, &Splitter::softmax},  {OpId::LayerNorm, &Splitter::layer_norm},
    {OpId::RmsNorm, &Splitter::rms_norm}, {OpId::Gelu, &Splitter::gelu},
    {OpId::Silu, &Splitter::silu},        {OpId::Split, &Splitter::split},
    {OpId::Concat, &Splitter::concat},    {OpId::Attention, &Splitter::attention},
    {OpId::Matmul, &Splitter::matmul},    {OpId::Pow, &Splitter::power}};

}  // namespace

void decompose(Module& module, const DecomposeOptions& options) {
  decompose_blocks(module);
  fill_groups(module, [&](const Node& node) -> std::int64_t {
    if (!is_narrow_product(module, node)) return 0;
    const DType left = module.value(node.inputs[0]).type.dtype;
    const bool contracts =
        left == DType::bf16 ? options.multiplies_bfloats : options.integer_factor != DType::f32;
    return contracts ? product_group_of(left) : 0;
  });
  decompose_narrow_products(module, options);
  Rewriter rewriter(module);
  const auto depth_of = [&](const Node& attention) {
    return bounds(module.value(attention.inputs[0]).type.dims.back()).high;
  };
  for (Node& node : module.nodes) {
    if (decompose_conv_pool(rewriter, node)) continue;
    const auto split = splits.find(node.op->id);
    const bool attends = node.op->op_class == OpClass::Attention;
    if (attends) widen_keys(rewriter, node);
    const bool whole =
        options.keep_attention && attends && depth_of(node) <= options.attention_depth;
    if (whole) store_mask(rewriter, node);
    const bool contracted =
        node.op->id == OpId::Matmul &&
        (module.value(node.outputs[0]).type.dtype == DType::f32 || is_narrow_product(module, node));
    const bool joins_few = node.op->id == OpId::Concat && node.inputs.size() <= most_parts;
    const bool is_other_power = node.op->id == OpId::Pow && factors_of_power(module, node) == 0;
    if (whole || contracted || joins_few || is_other_power || split == splits.end()) {
      rewriter.keep(std::move(node));
    } else {
      (Splitter(rewriter, node).*split->second)();
    }
  }
  rewriter.finish();
}

}  // namespace dyn::graph
