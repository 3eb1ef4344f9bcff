#include "graph/passes/products/narrow_windows.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "graph/ir/scalars.hpp"
#include "graph/ops/sliding_window.hpp"
#include "graph/passes/remove_dead.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

/// The operators that make numbers of bytes, the first one a cast; each other one has one scalar.
struct Widening {
  ValueId bytes;
  std::vector<const Node*> nodes;
};

class WindowNarrower {
 public:
  explicit WindowNarrower(Module& module) : module_(module), rewriter_(module) {}

  void run() {
    for (const Node& node : module_.nodes) {
      if (node.op->id != OpId::Windows || !narrow(node)) rewriter_.keep(node);
    }
    rewriter_.finish();
  }

 private:
  const TensorType& type(ValueId id) const { return module_.value(id).type; }
  bool is_scalar(ValueId id) const {
    const Value& value = module_.value(id);
    return value.kind == ValueKind::Constant && value.type.dtype == DType::f32;
  }

  std::optional<Widening> widening_of(ValueId id) const {
    constexpr std::size_t most = 3;
    Widening found{no_value, {}};
    for (const Node* node = producer_of(module_, id); node != nullptr && found.nodes.size() < most;
         node = producer_of(module_, found.bytes)) {
      found.nodes.insert(found.nodes.begin(), node);
      found.bytes = node->inputs[0];
      const bool steps =
          (node->op->id == OpId::Add || node->op->id == OpId::Sub || node->op->id == OpId::Mul) &&
          is_scalar(node->inputs[1]);
      if (steps && type(node->outputs[0]).dtype == DType::f32) continue;
      const DType from = type(found.bytes).dtype;
      if (node->op->id == OpId::Cast && type(node->outputs[0]).dtype == DType::f32 &&
          (from == DType::u8 || from == DType::i8))
        return found;
      break;
    }
    return std::nullopt;
  }

  float number_of(const Widening& widening, std::int64_t byte) const {
    auto number = static_cast<float>(byte);
    for (std::size_t i = 1; i < widening.nodes.size(); ++i) {
      const Node& node = *widening.nodes[i];
      const auto scalar = static_cast<float>(module_.value(node.inputs[1]).constant);
      number = node.op->id == OpId::Mul   ? number * scalar
               : node.op->id == OpId::Sub ? number - scalar
                                          : number + scalar;
    }
    return number;
  }

  /// The byte that stands outside: any where nothing lies there.
  std::optional<std::int64_t> outside(const Node& node, const Widening& widening) const {
    const DType dtype = type(widening.bytes).dtype;
    const std::vector<SlidingWindow> windows = windows_of(module_, node);
    if (std::ranges::none_of(windows, &SlidingWindow::is_padded)) return least(dtype);
    for (std::int64_t byte = least(dtype); byte <= greatest(dtype); ++byte) {
      if (static_cast<double>(number_of(widening, byte)) == attr_number(node, "value")) return byte;
    }
    return std::nullopt;
  }

  bool narrow(const Node& node) {
    const std::optional<Widening> widening = widening_of(node.inputs[0]);
    if (!widening) return false;
    const std::optional<std::int64_t> byte = outside(node, *widening);
    if (!byte) return false;
    rewriter_.begin(node, "");
    std::vector<Attr> attrs = node.attrs;
    std::erase_if(attrs, [](const Attr& attr) { return attr.name == "value"; });
    attrs.push_back({"value", static_cast<double>(*byte)});
    const std::vector<Dim> dims = type(node.outputs[0]).dims;
    Node slid = node;
    slid.inputs[0] = widening->bytes;
    slid.attrs = std::move(attrs);
    slid.outputs[0] =
        rewriter_.result(module_.value(node.outputs[0]).name, {type(widening->bytes).dtype, dims});
    ValueId last = slid.outputs[0];
    rewriter_.keep(std::move(slid));
    for (const Node* step : widening->nodes) {
      std::vector<ValueId> inputs = step->inputs;
      inputs[0] = last;
      last = rewriter_.emit(step->op->name, std::move(inputs), {DType::f32, dims}, step->attrs,
                            step == widening->nodes.back() ? node.outputs[0] : no_value);
    }
    return true;
  }

  Module& module_;
  Rewriter rewriter_;
};

}  // namespace

void narrow_windows(Module& module) {
  const auto is_one = [](const Node& node) { return node.op->id == OpId::Windows; };
  if (std::ranges::none_of(module.nodes, is_one)) return;
  WindowNarrower(module).run();
  remove_dead(module);
}

}  // namespace dyn::graph
