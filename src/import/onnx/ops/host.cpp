// Operators that a function of the host computes, and those whose run decides sizes.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {
namespace {

/// Takes a scalar where ONNX allows a tensor of one element too.
ValueId scalar_of(NodeContext& node, std::size_t input) {
  const ValueId id = node.value(input);
  return node.builder().type(id).rank() == 0
             ? id
             : node.add("reshape", {id}, {{"shape", std::vector<Dim>{}}});
}

void give_all(NodeContext& node, const std::vector<ValueId>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) node.give(results[i], i);
}

void convert_topk(NodeContext& node) {
  const int rank = node.type_of(0).rank();
  const int axis = node.axis(node.integer("axis", -1), rank);
  Dim k;
  if (node.opset() < 10) {
    k = node.dims().constant(node.integer("k", 0));
  } else {
    const std::vector<Dim> dims = node.need_dims(1, "k");
    if (dims.size() != 1) node.fail(fmt::format("k has {} elements, not 1", dims.size()));
    k = dims[0];
  }
  give_all(node,
           node.add_all(
               "topk", {node.value(0)},
               {{"k", k}, node.dim("axis", axis), {"largest", node.integer("largest", 1) != 0}}));
}

void convert_accumulation(NodeContext& node, bool product) {
  const std::vector<std::int64_t> axes = node.need_integers(1, "its axis");
  if (axes.size() != 1) node.fail(fmt::format("its axis has {} elements, not 1", axes.size()));
  const int axis = node.axis(axes[0], node.type_of(0).rank());
  node.give(node.add("cumsum", {node.value(0)},
                     {node.dim("axis", axis),
                      {"exclusive", node.integer("exclusive", 0) != 0},
                      {"reverse", node.integer("reverse", 0) != 0},
                      {"product", product}}));
}

void convert_cumsum(NodeContext& node) { convert_accumulation(node, false); }
void convert_cumprod(NodeContext& node) { convert_accumulation(node, true); }

void convert_scatter_elements(NodeContext& node) {
  const int axis = node.axis(node.integer("axis", 0), node.type_of(0).rank());
  node.give(node.add("scatter_elements", node.values(),
                     {node.dim("axis", axis), {"reduction", node.word("reduction", "none")}}));
}

void convert_scatter_nd(NodeContext& node) {
  node.give(node.add("scatter_nd", node.values(), {{"reduction", node.word("reduction", "none")}}));
}

void convert_nonzero(NodeContext& node) {
  node.give(node.add("nonzero", {node.value(0)}, {{"count", node.defined_dim("nonzero")}}));
}

/// Without an axis the elements of the whole tensor are meant.
ValueId flat(NodeContext& node) {
  const std::vector<Dim> dims = node.type_of(0).dims;
  const Dim count =
      std::accumulate(dims.begin(), dims.end(), node.dims().constant(1), std::multiplies());
  return dims.size() == 1 ? node.value(0)
                          : node.add("reshape", {node.value(0)}, {{"shape", std::vector{count}}});
}

void convert_compress(NodeContext& node) {
  const bool whole = node.attribute("axis") == nullptr;
  const int axis = whole ? 0 : node.axis(node.integer("axis", 0), node.type_of(0).rank());
  node.give(node.add("compress", {whole ? flat(node) : node.value(0), node.value(1)},
                     {node.dim("axis", axis), {"count", node.defined_dim("chosen")}}));
}

void convert_unique(NodeContext& node) {
  const bool whole = node.attribute("axis") == nullptr;
  const int axis = whole ? 0 : node.axis(node.integer("axis", 0), node.type_of(0).rank());
  give_all(node, node.add_all("unique", {whole ? flat(node) : node.value(0)},
                              {node.dim("axis", axis),
                               {"sorted", node.integer("sorted", 1) != 0},
                               {"count", node.defined_dim("distinct")}}));
}

void convert_nms(NodeContext& node) {
  constexpr double least_float = -3.4028234663852886e38;
  graph::Builder& builder = node.builder();
  const ValueId most = node.has(2) ? scalar_of(node, 2) : builder.integer(DType::i64, 0);
  const ValueId overlap = node.has(3) ? scalar_of(node, 3) : builder.number(DType::f32, 0);
  const ValueId least = node.has(4) ? scalar_of(node, 4) : builder.number(DType::f32, least_float);
  node.give(node.add("nms", {node.value(0), node.value(1), most, overlap, least},
                     {{"center", node.integer("center_point_box", 0) != 0},
                      {"count", node.defined_dim("boxes")}}));
}

}  // namespace

void convert_steps(NodeContext& node) {
  const ValueId start = scalar_of(node, 0), limit = scalar_of(node, 1),
                delta = node.has(2) ? scalar_of(node, 2) : node.scalar(1, start);
  node.give(node.add("steps", {start, limit, delta}, {{"count", node.defined_dim("steps")}}));
}

Family host_operators() {
  return {{"TopK", convert_topk},
          {"CumSum", convert_cumsum},
          {"CumProd", convert_cumprod},
          {"ScatterElements", convert_scatter_elements},
          {"Scatter", convert_scatter_elements},
          {"ScatterND", convert_scatter_nd},
          {"NonZero", convert_nonzero},
          {"Compress", convert_compress},
          {"Unique", convert_unique},
          {"NonMaxSuppression", convert_nms}};
}

}  // namespace dyn::onnx
