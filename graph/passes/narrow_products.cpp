#include "graph/passes/narrow_products.hpp"

#include <map>
#include <set>
#include <string>

#include "graph/ir/op.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

class Narrower {
 public:
  explicit Narrower(Module& module) : module_(module), rewriter_(module) {}

  void run() {
    find_moved();
    for (Node node : std::vector<Node>(module_.nodes)) {
      if (is_product(node)) node.inputs[0] = narrow(node);
      rewriter_.keep(std::move(node));
    }
    rewriter_.finish();
  }

 private:
  const TensorType& type(ValueId id) const { return module_.value(id).type; }

  /// A matrix of the file behind views.
  bool is_weight(ValueId id) const {
    while (module_.value(id).producer >= 0) {
      const Node& view = module_.nodes[static_cast<std::size_t>(module_.value(id).producer)];
      if (view.op->op_class != OpClass::View || view.op->id == OpId::Append) return false;
      id = view.inputs[0];
    }
    return module_.value(id).kind == ValueKind::Weight && !moved_.contains(id);
  }

  /// Weights whose elements are read for themselves too: they are kept once, for both.
  void find_moved() {
    for (const Node& node : module_.nodes) {
      if (contracts(node.op->op_class) || node.op->op_class == OpClass::View) continue;
      moved_.insert(node.inputs.begin(), node.inputs.end());
    }
  }

  bool is_product(const Node& node) const {
    if (node.op->id != OpId::Matmul && node.op->id != OpId::WindowMatmul) return false;
    const TensorType &a = type(node.inputs[0]), &b = type(node.inputs[1]);
    if (a.dtype != DType::f32 || b.dtype != DType::f32 || b.rank() != 2 ||
        !is_weight(node.inputs[1]))
      return false;
    const bool turned = node.op->id == OpId::Matmul && attr_boolean(node, "transpose_a");
    const std::optional<std::int64_t> depth = a.dims.back().constant();
    return !turned && depth && *depth > 0 && *depth % product_group == 0;
  }

  /// The left side in bf16; one for all that multiply it.
  ValueId narrow(const Node& node) {
    const ValueId x = node.inputs[0];
    if (const auto known = narrow_.find(x); known != narrow_.end()) return known->second;
    rewriter_.begin(node, "");
    return narrow_[x] = rewriter_.emit("cast", {x}, {DType::bf16, type(x).dims},
                                       {{"dtype", std::string(name_of(DType::bf16))}});
  }

  Module& module_;
  Rewriter rewriter_;
  std::map<ValueId, ValueId> narrow_;
  std::set<ValueId> moved_;
};

}  // namespace

void narrow_products(Module& module) { Narrower(module).run(); }

}  // namespace dyn::graph
