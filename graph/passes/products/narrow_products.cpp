#include "graph/passes/products/narrow_products.hpp"

#include <map>
#include <set>
#include <string>

#include "graph/passes/products/constant_products.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

class Narrower {
 public:
  Narrower(Module& module, DType dtype, const std::function<bool(const Node&)>& chosen)
      : module_(module),
        dtype_(dtype),
        chosen_(chosen),
        products_(module, product_group_of(dtype)),
        rewriter_(module) {}

  void run() {
    const std::vector<Node> nodes = module_.nodes;
    for (const Node& node : nodes) {
      if (multiplies(node)) multiplied_.insert(node.inputs[0]);
    }
    for (Node node : nodes) {
      const bool narrows = multiplies(node);
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        node.inputs[i] =
            narrows && i == 0 ? factor_of(node, node.inputs[0]) : number_of(node, node.inputs[i]);
      rewriter_.keep(node);
      for (const ValueId output : node.outputs)
        if (multiplied_.contains(output)) narrow(node, output);
    }
    rewriter_.finish();
  }

 private:
  /// A left side in 16 bits, and what that is in f32 for others, where they ask.
  struct Narrow {
    ValueId bits, number = no_value;
  };

  bool multiplies(const Node& node) const { return products_.contains(node) && chosen_(node); }

  ValueId cast(ValueId x, DType dtype) {
    return rewriter_.emit("cast", {x}, {dtype, rewriter_.type(x).dims},
                          {{"dtype", std::string(name_of(dtype))}});
  }

  /// One for all that multiply it.
  ValueId narrow(const Node& node, ValueId x) {
    if (const auto known = narrow_.find(x); known != narrow_.end()) return known->second.bits;
    rewriter_.begin(node, "");
    return (narrow_[x] = {cast(x, dtype_)}).bits;
  }

  /// The left side as a product takes it: pairs of bf16 as they are, other numbers as f32.
  ValueId factor_of(const Node& node, ValueId x) {
    const ValueId bits = narrow(node, x);
    return dtype_ == DType::bf16 ? bits : widened(node, narrow_.at(x));
  }

  ValueId widened(const Node& node, Narrow& narrow) {
    if (narrow.number == no_value) {
      rewriter_.begin(node, "");
      narrow.number = cast(narrow.bits, DType::f32);
    }
    return narrow.number;
  }

  /// The value for other readers: one that was computed lies in memory once. Inputs lie there as
  /// they are.
  ValueId number_of(const Node& node, ValueId x) {
    const auto known = narrow_.find(x);
    if (known == narrow_.end() || module_.value(x).producer < 0) return x;
    return widened(node, known->second);
  }

  Module& module_;
  const DType dtype_;
  const std::function<bool(const Node&)>& chosen_;
  const ConstantProducts products_;
  Rewriter rewriter_;
  std::set<ValueId> multiplied_;
  std::map<ValueId, Narrow> narrow_;
};

}  // namespace

void narrow_products(Module& module, DType dtype, const std::function<bool(const Node&)>& chosen) {
  Narrower(module, dtype, chosen).run();
}

}  // namespace dyn::graph
