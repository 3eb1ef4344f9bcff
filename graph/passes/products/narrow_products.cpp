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
  Narrower(Module& module, const std::function<bool(const Node&)>& chosen)
      : module_(module),
        chosen_(chosen),
        products_(module, product_group_of(DType::bf16)),
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
            narrows && i == 0 ? narrow(node, node.inputs[0]) : number_of(node, node.inputs[i]);
      rewriter_.keep(node);
      for (const ValueId output : node.outputs)
        if (multiplied_.contains(output)) narrow(node, output);
    }
    rewriter_.finish();
  }

 private:
  /// A left side in bf16, and what that is in f32 for others, where they ask.
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
    return (narrow_[x] = {cast(x, DType::bf16)}).bits;
  }

  /// The value for other readers: one that was computed lies in memory once. Inputs lie there as
  /// they are.
  ValueId number_of(const Node& node, ValueId x) {
    const auto known = narrow_.find(x);
    if (known == narrow_.end() || module_.value(x).producer < 0) return x;
    ValueId& number = known->second.number;
    if (number == no_value) {
      rewriter_.begin(node, "");
      number = cast(known->second.bits, DType::f32);
    }
    return number;
  }

  Module& module_;
  const std::function<bool(const Node&)>& chosen_;
  const ConstantProducts products_;
  Rewriter rewriter_;
  std::set<ValueId> multiplied_;
  std::map<ValueId, Narrow> narrow_;
};

}  // namespace

void narrow_products(Module& module, const std::function<bool(const Node&)>& chosen) {
  Narrower(module, chosen).run();
}

}  // namespace dyn::graph
