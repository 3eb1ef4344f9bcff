#include "graph/passes/products/quantize_products.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "graph/passes/products/constant_products.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

constexpr double most = 127, middle = 128;
/// Below all magnitudes that matter: rows of zeros have a scale as well.
constexpr double least_reach = 1e-30;

class Quantizer {
 public:
  Quantizer(Module& module, const DecomposeOptions& target, const QuantizedProducts& wanted)
      : module_(module),
        target_(target),
        wanted_(wanted),
        factor_(target.integer_factor),
        products_(module, product_group),
        rewriter_(module) {}

  void run() {
    const std::vector<Node> nodes = module_.nodes;
    for (const Node& node : nodes) {
      if (!products_.contains(node) || !wanted_.chosen(node))
        rewriter_.keep(node);
      else if (multiplies_codes(module_, node, target_))
        multiply_codes(node);
      else if (is_whole(node.inputs[1]) && has_exact_sums(node))
        quantize(node);
      else
        rewriter_.keep(node);
    }
    rewriter_.finish();
  }

 private:
  /// The left side as bytes, and the scale of each row or image.
  struct Left {
    ValueId bytes, scale;
  };
  /// i8 of the right side's shape; of each column the scale, f32, and the sum of the codes times
  /// what stands for 0 in a left side of u8, i32.
  struct Right {
    ValueId codes, scales, sums;
  };

  /// The weight itself, or all of its elements in their order.
  bool is_whole(ValueId id) const {
    const Value& value = module_.value(id);
    if (value.producer < 0) return true;
    const Node& view = module_.nodes[static_cast<std::size_t>(value.producer)];
    return view.op->id == OpId::Reshape && is_whole(view.inputs[0]);
  }

  static bool transposes_right(const Node& node) {
    return node.op->id == OpId::Matmul && attr_boolean(node, "transpose_b");
  }

  /// Sums of so many products, and those that zero points add, are numbers of i32.
  bool has_exact_sums(const Node& node) const {
    constexpr auto greatest_depth =
        static_cast<std::int64_t>(std::numeric_limits<std::int32_t>::max() / (most * middle));
    const std::vector<Dim>& dims = rewriter_.type(node.inputs[1]).dims;
    Dim depth = module_.dims->constant(1);
    if (transposes_right(node)) return bounds(dims[1]).high <= greatest_depth;
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) depth = depth * dims[i];
    return bounds(depth).high <= greatest_depth;
  }

  void quantize(const Node& node) {
    rewriter_.begin(node, "");
    const bool transposes = transposes_right(node);
    const Left left = left_of(node);
    const Right right = right_of(node.inputs[1], transposes);
    const std::vector<Dim> dims = rewriter_.type(node.outputs[0]).dims;
    const ValueId sums = rewriter_.emit(node.op->name, {left.bytes, right.codes},
                                        {DType::i32, dims}, attrs_of(node));
    const ValueId exact =
        has_zero_point() ? rewriter_.emit("sub", {sums, right.sums}, {DType::i32, dims}) : sums;
    const ValueId number = cast(exact, DType::f32);
    const ValueId by_column = rewriter_.emit("mul", {number, right.scales}, {DType::f32, dims});
    rewriter_.emit("mul", {by_column, left.scale}, {DType::f32, dims}, {}, node.outputs[0]);
  }

  /// The target makes codes of the weight, or has them, and adds up each block by itself.
  void multiply_codes(const Node& node) {
    rewriter_.begin(node, "");
    const Left left = left_of(node);
    const std::vector<Dim> dims = rewriter_.type(node.outputs[0]).dims;
    std::vector<Attr> attrs = attrs_of(node);
    if (has_zero_point()) attrs.push_back({"zero", middle_integer()});
    const ValueId sums = rewriter_.emit(node.op->name, {left.bytes, node.inputs[1]},
                                        {DType::f32, dims}, std::move(attrs));
    rewriter_.emit("mul", {sums, left.scale}, {DType::f32, dims}, {}, node.outputs[0]);
  }

  /// Around windows stands what stands for 0.
  std::vector<Attr> attrs_of(const Node& node) const {
    std::vector<Attr> attrs = node.attrs;
    if (node.op->id != OpId::Matmul && has_zero_point()) {
      std::erase_if(attrs, [](const Attr& attr) { return attr.name == "value"; });
      attrs.push_back({"value", middle_integer()});
    }
    return attrs;
  }
  Dim middle_integer() const { return module_.dims->constant(static_cast<std::int64_t>(middle)); }

  /// Bytes without a sign have one in their middle.
  bool has_zero_point() const { return factor_ == DType::u8; }

  ValueId cast(ValueId x, DType dtype) {
    return rewriter_.emit("cast", {x}, {dtype, rewriter_.type(x).dims},
                          {{"dtype", std::string(name_of(dtype))}});
  }
  ValueId number(double value) { return rewriter_.number(DType::f32, value); }
  ValueId map(const char* op, std::vector<ValueId> inputs) {
    TensorType same = rewriter_.type(inputs[0]);
    return rewriter_.emit(op, std::move(inputs), std::move(same));
  }

  /// One for all that multiply it so.
  Left left_of(const Node& node) {
    const ValueId x = node.inputs[0];
    const int rank = rewriter_.type(x).rank();
    const int first = node.op->id == OpId::Matmul ? rank - 1 : 1;
    const auto known = left_.find({x, first});
    if (known != left_.end()) return known->second;
    if (const auto reach = wanted_.reaches.find(x); reach != wanted_.reaches.end())
      return left_[{x, first}] = bounded_left(x, std::max(reach->second, least_reach));
    TensorType reduced = rewriter_.type(x);
    std::vector<Dim> axes;
    for (int axis = first; axis < rank; ++axis) {
      axes.push_back(module_.dims->constant(axis));
      reduced.dims[static_cast<std::size_t>(axis)] = module_.dims->constant(1);
    }
    const ValueId reach = rewriter_.emit("reduce_max", {map("abs", {x})}, std::move(reduced),
                                         {{"axes", std::move(axes)}, {"keepdims", true}});
    const ValueId bounded = map("maximum", {reach, number(least_reach)});
    const ValueId steps =
        map("mul", {x, rewriter_.emit("div", {number(most), bounded}, rewriter_.type(bounded))});
    return left_[{x, first}] = {bytes_of(map("round", {steps})),
                                map("mul", {bounded, number(1 / most)})};
  }

  Left bounded_left(ValueId x, double reach) {
    const ValueId whole = map("round", {map("mul", {x, number(most / reach)})});
    const ValueId bounded = map("minimum", {map("maximum", {whole, number(-most)}), number(most)});
    return {bytes_of(bounded), number(reach / most)};
  }

  ValueId bytes_of(ValueId whole) {
    return cast(has_zero_point() ? map("add", {whole, number(middle)}) : whole, factor_);
  }

  Right right_of(ValueId view, bool transposes) {
    const ValueId source = products_.weight_of(view);
    const auto known = right_.find({source, view, transposes});
    if (known != right_.end()) return known->second;
    const std::vector<Dim> dims = rewriter_.type(view).dims;
    const Dim columns = transposes ? dims.front() : dims.back();
    const auto made = [&](const char* what, TensorType type, WeightSource::Kind kind) {
      WeightSource weight;
      weight.kind = kind;
      weight.parts = {source};
      weight.block = transposes ? *dims[1].constant() : 0;
      return rewriter_.new_weight(module_.value(source).name + what, std::move(type),
                                  std::move(weight));
    };
    return right_[{source, view, transposes}] = {
               made(".codes", {DType::i8, dims}, WeightSource::Kind::Codes),
               made(".scales", {DType::f32, {columns}}, WeightSource::Kind::Scales),
               made(".sums", {DType::i32, {columns}}, WeightSource::Kind::Sums)};
  }

  Module& module_;
  const DecomposeOptions& target_;
  const QuantizedProducts& wanted_;
  const DType factor_;
  const ConstantProducts products_;
  Rewriter rewriter_;
  std::map<std::pair<ValueId, int>, Left> left_;
  std::map<std::tuple<ValueId, ValueId, bool>, Right> right_;
};

}  // namespace

void quantize_products(Module& module, const DecomposeOptions& target,
                       const QuantizedProducts& products) {
  Quantizer(module, target, products).run();
}

}  // namespace dyn::graph
