#include "graph/passes/products/decompose_blocks.hpp"

#include <algorithm>

#include "graph/ir/op.hpp"

namespace dyn::graph {
namespace {

class BlockUnpacker {
 public:
  BlockUnpacker(Rewriter& rewriter, const Node& node) : rewriter_(rewriter), node_(node) {}

  void compute() {
    rewriter_.begin(node_, "unpack_blocks");
    std::vector<Dim> leading = type(node_.inputs[1]).dims;
    const Dim blocks = leading.back(), bytes = type(node_.inputs[0]).dims.back(),
              block = bytes * codes_of_byte();
    leading.pop_back();
    const auto shaped = [&](std::initializer_list<Dim> last) {
      std::vector<Dim> dims = leading;
      dims.insert(dims.end(), last);
      return dims;
    };
    const ValueId whole =
        codes_of_byte() == 1
            ? node_.inputs[0]
            : reshape(digits(shaped({blocks, bytes, integer(1)})), shaped({blocks, block}));
    const std::vector<Dim> of_blocks = shaped({blocks, integer(1)});
    const ValueId zero = node_.inputs.size() > 2
                             ? reshape(cast(node_.inputs[2], DType::f32), of_blocks)
                             : rewriter_.number(DType::f32, codes_of_byte() == 1 ? 128 : 8);
    const ValueId scale = reshape(cast(node_.inputs[1], DType::f32), of_blocks);
    const ValueId numbers = map("mul", map("sub", cast(whole, DType::f32), zero), scale);
    const Dim size = type(node_.outputs[0]).dims.back();
    const bool cuts = size != blocks * block;
    const ValueId rows = reshape(numbers, shaped({blocks * block}), cuts ? no_value : output());
    if (!cuts) return;
    rewriter_.emit("slice", {rows}, type(output()),
                   {{"axes", std::vector{integer(type(output()).rank() - 1)}},
                    {"starts", std::vector{integer(0)}},
                    {"ends", std::vector{size}}},
                   output());
  }

 private:
  static constexpr std::int64_t base = 16;

  std::int64_t codes_of_byte() const { return 8 / attr_integer(node_, "bits"); }
  const TensorType& type(ValueId id) const { return rewriter_.type(id); }
  ValueId output() const { return node_.outputs[0]; }
  Dim integer(std::int64_t value) { return rewriter_.module().dims->constant(value); }

  ValueId reshape(ValueId x, std::vector<Dim> dims, ValueId to = no_value) {
    return rewriter_.emit("reshape", {x}, {type(x).dtype, dims}, {{"shape", dims}}, to);
  }
  ValueId cast(ValueId x, DType dtype) {
    if (type(x).dtype == dtype) return x;
    return rewriter_.emit("cast", {x}, {dtype, type(x).dims},
                          {{"dtype", std::string(name_of(dtype))}});
  }
  /// The result has the shape of `a`.
  ValueId map(const char* op, ValueId a, ValueId b) {
    return rewriter_.emit(op, {a, b}, type(a), {});
  }

  /// Both digits of each byte, side by side: i32, where `single` is the shape of one.
  ValueId digits(const std::vector<Dim>& single) {
    const ValueId bytes = reshape(cast(node_.inputs[0], DType::i32), single),
                  size = rewriter_.integer(DType::i32, base);
    const ValueId high = map("div", bytes, size);
    const ValueId low = map("sub", bytes, map("mul", high, size));
    TensorType both{DType::i32, single};
    both.dims.back() = integer(2);
    const Dim axis = integer(both.rank() - 1);
    return rewriter_.emit("concat", {low, high}, std::move(both), {{"axis", axis}});
  }

  Rewriter& rewriter_;
  const Node& node_;
};

bool reads_weights(const Module& module, const Node& node) {
  return std::ranges::all_of(
      node.inputs, [&](ValueId id) { return module.value(id).kind == ValueKind::Weight; });
}

}  // namespace

void decompose_blocks(Module& module) {
  const auto is_one = [](const Node& node) { return node.op->id == OpId::UnpackBlocks; };
  if (std::ranges::none_of(module.nodes, is_one)) return;
  Rewriter rewriter(module);
  for (Node& node : module.nodes) {
    if (!is_one(node)) {
      rewriter.keep(std::move(node));
    } else if (reads_weights(module, node)) {
      WeightSource source;
      source.kind = WeightSource::Kind::Blocks;
      source.parts = node.inputs;
      source.bits = static_cast<int>(attr_integer(node, "bits"));
      source.block =
          module.value(node.inputs[0]).type.dims.back().constant().value() * 8 / source.bits;
      rewriter.becomes_weight(node.outputs[0], std::move(source));
    } else {
      BlockUnpacker(rewriter, node).compute();
    }
  }
  rewriter.finish();
}

}  // namespace dyn::graph
