#include "graph/passes/products/narrow_products.hpp"

#include <map>
#include <string>

#include "graph/passes/products/constant_products.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

class Narrower {
 public:
  Narrower(Module& module, const std::function<bool(const Node&)>& chosen)
      : module_(module), chosen_(chosen), products_(module), rewriter_(module) {}

  void run() {
    const std::vector<Node> nodes = module_.nodes;
    for (Node node : nodes) {
      if (products_.contains(node) && chosen_(node)) node.inputs[0] = narrow(node);
      rewriter_.keep(std::move(node));
    }
    rewriter_.finish();
  }

 private:
  /// The left side in bf16; one for all that multiply it.
  ValueId narrow(const Node& node) {
    const ValueId x = node.inputs[0];
    if (const auto known = narrow_.find(x); known != narrow_.end()) return known->second;
    rewriter_.begin(node, "");
    return narrow_[x] = rewriter_.emit("cast", {x}, {DType::bf16, rewriter_.type(x).dims},
                                       {{"dtype", std::string(name_of(DType::bf16))}});
  }

  Module& module_;
  const std::function<bool(const Node&)>& chosen_;
  const ConstantProducts products_;
  Rewriter rewriter_;
  std::map<ValueId, ValueId> narrow_;
};

}  // namespace

void narrow_products(Module& module, const std::function<bool(const Node&)>& chosen) {
  Narrower(module, chosen).run();
}

}  // namespace dyn::graph
