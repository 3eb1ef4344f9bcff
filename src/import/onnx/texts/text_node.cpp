#include "src/import/onnx/texts/text_node.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/texts/text_lookup.hpp"

namespace dyn::onnx {
namespace {

constexpr TextPorts movers[] = {{"Reshape"},
                                {"Squeeze"},
                                {"Unsqueeze"},
                                {"Flatten"},
                                {"Transpose"},
                                {"Gather"},
                                {"GatherElements"},
                                {"GatherND"},
                                {"Slice"},
                                {"Split"},
                                {"Tile"},
                                {"Expand"},
                                {"Compress"},
                                {"ArrayFeatureExtractor"},
                                {"Concat", 0, every_input},
                                {"Where", 1, 2},
                                {"Equal", 0, 1, false},
                                {"Shape", 0, 0, false},
                                {"Size", 0, 0, false}};

bool is_cast_to_texts(const NodeContext& context) {
  return context.node().op_type() == "Cast" &&
         context.integer("to", TensorProto::UNDEFINED) == TensorProto::STRING;
}

std::size_t end_of(const NodeContext& context, const TextPorts& ports) {
  return std::min(context.inputs(), ports.last == every_input ? every_input : ports.last + 1);
}

bool reads_texts_at(const NodeContext& context, const TextPorts& ports) {
  for (std::size_t i = ports.first; i < end_of(context, ports); ++i) {
    if (context.texts(i) != nullptr) return true;
  }
  return false;
}

/// While it lives, the names of a node's texts mean their places in one list.
class AsPlaces {
 public:
  AsPlaces(GraphState& state, NodeContext& context, const TextPorts& ports) : state_(state) {
    const std::size_t end = end_of(context, ports);
    list_ = common_list(context, ports.first, end);
    for (std::size_t i = ports.first; i < end; ++i) {
      if (!context.has(i)) continue;
      const std::shared_ptr<Operand> given = context.operand(i);
      const bool is_new = given_.emplace(context.node().input(static_cast<int>(i)), given).second;
      if (is_new)
        places_[context.node().input(static_cast<int>(i))] =
            std::make_shared<Operand>(places_in(context, *given, *list_));
    }
    for (const auto& [name, places] : places_) state_.operands[name] = places;
  }
  AsPlaces(const AsPlaces&) = delete;
  AsPlaces& operator=(const AsPlaces&) = delete;
  /// A constant that has become a value of the module stays one.
  ~AsPlaces() {
    for (const auto& [name, given] : given_) {
      if (given->texts == list_) given->id = places_[name]->id;
      state_.operands[name] = given;
    }
  }

  const TextListPtr& list() const { return list_; }

 private:
  GraphState& state_;
  TextListPtr list_;
  Operands given_, places_;
};

}  // namespace

bool reads_texts(const NodeContext& context) {
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    if (context.texts(i) != nullptr) return true;
  }
  return false;
}

Operand texts_operand(const TextVector& texts, std::vector<std::int64_t> dims) {
  const auto list = std::make_shared<const TextList>(texts);
  const std::vector<std::int64_t> each = list->places_of(texts);
  Tensor places{DType::i64, std::move(dims), {}};
  if (!each.empty())
    places.bytes.assign(reinterpret_cast<const char*>(each.data()), each.size() * sizeof each[0]);
  Operand operand{graph::no_value, std::make_shared<const Tensor>(std::move(places)), std::nullopt};
  operand.texts = list;
  return operand;
}

Operand texts_operand(TensorProto& proto) {
  std::vector<std::int64_t> dims(proto.dims().begin(), proto.dims().end());
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) count = -1;
    if (count < 0) break;
  }
  if (count != proto.string_data_size())
    throw Error(ErrorKind::model,
                fmt::format("the tensor {}: it has {} texts, which do not fit its dims",
                            proto.name(), proto.string_data_size()));
  Operand operand =
      texts_operand({proto.string_data().begin(), proto.string_data().end()}, std::move(dims));
  operand.name = proto.name();
  proto.clear_string_data();
  return operand;
}

const TextPorts* text_ports(std::string_view op) {
  const auto* found = std::ranges::find(movers, op, &TextPorts::op);
  return found == std::end(movers) ? nullptr : found;
}

void convert_texts(GraphState& state, NodeProto& node, NodeContext& context,
                   const Conversion& conversion) {
  if (context.texts(0) != nullptr && is_cast_to_texts(context))
    return context.give(context.operand(0));
  const TextPorts* ports = text_ports(node.op_type());
  if (ports == nullptr || !reads_texts_at(context, *ports)) return conversion.convert(context);
  TextListPtr list;
  {
    const AsPlaces as_places(state, context, *ports);
    conversion.convert(context);
    list = as_places.list();
  }
  if (!ports->gives_texts) return;
  for (const std::string& output : node.output()) {
    const auto made = state.operands.find(output);
    if (output.empty() || made == state.operands.end()) continue;
    auto moved = std::make_shared<Operand>(*made->second);
    moved->texts = list;
    made->second = std::move(moved);
  }
}

}  // namespace dyn::onnx
