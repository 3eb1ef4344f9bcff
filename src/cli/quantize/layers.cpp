#include "src/cli/quantize/layers.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/passes/products/constant_products.hpp"
#include "graph/passes/rewriter.hpp"
#include "src/base/rounding.hpp"
#include "src/rkernel/expr/block_coder.hpp"
#include "src/rkernel/expr/narrow.hpp"

namespace dyn::cli {
namespace {

using graph::Dim;
using graph::Node;
using graph::OpId;
using graph::ValueId;

bool is_layer(const graph::Module& module, const Node& node) {
  if (node.op->id != OpId::Matmul && node.op->id != OpId::Conv) return false;
  const graph::Value& weight = module.value(node.inputs[1]);
  return weight.kind == graph::ValueKind::Weight && weight.type.dtype == DType::f32 &&
         module.value(node.inputs[0]).type.dtype == DType::f32;
}

std::string why_kept(const graph::ConstantProducts& products, const graph::Module& module,
                     const Node& node) {
  if (products.weight_of(node.inputs[1]) == graph::no_value) return "the weight is a table too";
  if (node.op->id == OpId::Conv && graph::attr_integer(node, "groups") != 1) return "has groups";
  if (node.op->id == OpId::Matmul && module.value(node.inputs[1]).type.rank() != 2)
    return "the weight is no matrix";
  if (node.op->id == OpId::Matmul)
    return fmt::format("sums of fewer than {} products", graph::least_grouped_depth);
  return "the channels are no multiple of 4";
}

/// Rows of weights as codes.
class RowCoder {
 public:
  RowCoder(std::int64_t depth, std::int64_t count, int group)
      : depth_(depth),
        count_(count),
        group_(group),
        blocks_(ceil_div(depth, std::int64_t{group})),
        codes_(static_cast<std::size_t>(count * blocks_ * group / 2), '\0'),
        scales_(static_cast<std::size_t>(count * blocks_)) {}

  /// Element k of row n is weights[n * row_stride + k * k_stride].
  void code(std::span<const float> weights, std::int64_t row_stride, std::int64_t k_stride) {
    constexpr std::int64_t together = 16;
    for (std::int64_t first = 0; first < count_; first += together) {
      const std::int64_t rows = std::min(together, count_ - first);
      rkernel::BlockCoder coder(DType::f16, rows);
      std::vector<float> block;
      std::vector<std::int32_t> codes(static_cast<std::size_t>(rows));
      for (std::int64_t b = 0; b < blocks_; ++b) {
        const std::int64_t k0 = b * group_, size = std::min<std::int64_t>(group_, depth_ - k0);
        block.clear();
        for (std::int64_t k = k0; k < k0 + size; ++k) {
          for (std::int64_t n = first; n < first + rows; ++n)
            block.push_back(weights[static_cast<std::size_t>(n * row_stride + k * k_stride)]);
        }
        coder.choose_scales(block.data(), size);
        for (std::int64_t n = 0; n < rows; ++n)
          scales_[static_cast<std::size_t>((first + n) * blocks_ + b)] =
              rkernel::to_f16(coder.scales()[static_cast<std::size_t>(n)]);
        for (std::int64_t k = 0; k < group_; ++k) {
          std::ranges::fill(codes, 0);
          if (k < size) coder.code(block.data() + k * rows, codes.data());
          for (std::int64_t n = 0; n < rows; ++n)
            put((first + n) * blocks_ * group_ + k0 + k, codes[static_cast<std::size_t>(n)]);
        }
      }
    }
  }

  std::int64_t blocks() const { return blocks_; }
  std::string take_codes() { return std::move(codes_); }
  std::string scale_bytes() const {
    return {reinterpret_cast<const char*>(scales_.data()), scales_.size() * sizeof scales_[0]};
  }

 private:
  /// The first of two is in the lower bits of a byte; codes count from 0 up there.
  void put(std::int64_t place, std::int32_t code) {
    constexpr std::int32_t middle = 8;
    char& byte = codes_[static_cast<std::size_t>(place / 2)];
    byte = static_cast<char>(static_cast<unsigned char>(byte) | static_cast<unsigned>(code + middle)
                                                                    << (place % 2 * 4));
  }

  const std::int64_t depth_, count_;
  const int group_;
  const std::int64_t blocks_;
  std::string codes_;
  std::vector<std::uint16_t> scales_;
};

class LayerCoder {
 public:
  LayerCoder(graph::Module& module, int group, const runtime::WeightSources& sources,
             std::map<std::string, std::string>& made)
      : module_(module), group_(group), sources_(sources), made_(made), rewriter_(module) {}

  void run(const std::vector<QuantizedLayer>& layers) {
    std::set<ValueId> weights, results;
    for (const QuantizedLayer& layer : layers) {
      if (!layer.kept.empty()) continue;
      weights.insert(layer.weight);
      results.insert(layer.result);
    }
    const std::vector<Node> nodes = module_.nodes;
    for (Node node : nodes) {
      // Those that multiply bytes by now are others' inputs.
      const bool is_product = node.op->id == OpId::Matmul || node.op->id == OpId::Conv;
      if (is_product && weights.contains(node.inputs[1]) &&
          (results.contains(node.outputs[0]) || rewriter_.type(node.inputs[0]).dtype != DType::f32))
        replace(node);
      rewriter_.keep(std::move(node));
    }
    rewriter_.finish();
  }

 private:
  Dim number(std::int64_t value) { return module_.dims->constant(value); }

  void replace(Node& node) {
    rewriter_.begin(node, "");
    const bool is_conv = node.op->id == OpId::Conv,
               turned = !is_conv && graph::attr_boolean(node, "transpose_b");
    const ValueId rows = rows_of(node.inputs[1], turned);
    node.inputs[1] = is_conv ? filters(rows, rewriter_.type(node.inputs[1]).dims) : rows;
    if (is_conv || turned) return;
    std::erase_if(node.attrs, [](const graph::Attr& attr) { return attr.name == "transpose_b"; });
    node.attrs.push_back({"transpose_b", true});
  }

  /// The weight with the sums along its last axis: [columns, depth]. One for all that read it so.
  ValueId rows_of(ValueId weight, bool turned) {
    const auto known = rows_.find({weight, turned});
    if (known != rows_.end()) return known->second;
    const Shape shape = runtime::weight_shape(module_.value(weight));
    const std::int64_t count = turned ? shape.front() : shape.back(),
                       depth = count == 0 ? 0 : element_count(shape) / count;
    const std::vector<float> weights = sources_.floats(weight);
    if (!std::ranges::all_of(weights, [](float element) { return std::isfinite(element); }))
      throw Error(ErrorKind::model,
                  fmt::format("weight '{}' holds numbers that are not finite; leave it out with "
                              "--exclude",
                              module_.value(weight).name));
    RowCoder coder(depth, count, group_);
    coder.code(weights, turned ? depth : 1, turned ? 1 : count);
    const std::string name = module_.value(weight).name;
    const ValueId codes = stored(
        name + ".codes", {DType::u8, {number(count), number(coder.blocks()), number(group_ / 2)}},
        coder.take_codes());
    const ValueId scales =
        stored(name + ".scales", {DType::f16, {number(count), number(coder.blocks())}},
               coder.scale_bytes());
    return rows_[{weight, turned}] = rewriter_.emit("unpack_blocks", {codes, scales},
                                                    {DType::f32, {number(count), number(depth)}},
                                                    {{"size", number(depth)}});
  }

  ValueId stored(const std::string& name, graph::TensorType type, std::string bytes) {
    const ValueId id = rewriter_.new_weight(name, std::move(type), {});
    made_[module_.value(id).name] = std::move(bytes);
    return id;
  }

  /// Rows of [taps..., channels] as filters [taps..., channels, columns].
  ValueId filters(ValueId rows, std::vector<Dim> dims) {
    std::vector<Dim> turned{dims.back()}, perm;
    turned.insert(turned.end(), dims.begin(), dims.end() - 1);
    for (std::size_t axis = 1; axis < dims.size(); ++axis)
      perm.push_back(number(static_cast<std::int64_t>(axis)));
    perm.push_back(number(0));
    const ValueId shaped =
        rewriter_.emit("reshape", {rows}, {DType::f32, turned}, {{"shape", turned}});
    return rewriter_.emit("transpose", {shaped}, {DType::f32, std::move(dims)},
                          {{"perm", std::move(perm)}});
  }

  graph::Module& module_;
  const int group_;
  const runtime::WeightSources& sources_;
  std::map<std::string, std::string>& made_;
  graph::Rewriter rewriter_;
  std::map<std::pair<ValueId, bool>, ValueId> rows_;
};

}  // namespace

std::vector<QuantizedLayer> layers_of(const graph::Module& module,
                                      const std::vector<std::string>& exclude) {
  const graph::ConstantProducts products(module, graph::product_group);
  std::vector<QuantizedLayer> layers;
  for (const Node& node : module.nodes) {
    if (!is_layer(module, node)) continue;
    layers.push_back({module.value(node.outputs[0]).name, node.inputs[0], node.inputs[1],
                      node.outputs[0], node.op->id == OpId::Conv,
                      products.contains(node) ? "" : why_kept(products, module, node)});
  }
  for (const std::string& pattern : exclude) {
    const auto fits = [&](const std::string& name) {
      return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    };
    bool fits_any = false;
    for (QuantizedLayer& layer : layers) {
      if (!fits(layer.name) && !fits(module.value(layer.weight).name)) continue;
      fits_any = true;
      layer.kept = "--exclude";
    }
    if (!fits_any)
      throw Error(ErrorKind::user,
                  fmt::format("--exclude {}: no layer and no weight has such a name", pattern));
  }
  return layers;
}

void code_weights(graph::Module& module, const std::vector<QuantizedLayer>& layers, int group,
                  const runtime::WeightSources& sources, std::map<std::string, std::string>& made) {
  LayerCoder(module, group, sources, made).run(layers);
}

}  // namespace dyn::cli
