#include "src/import/onnx/text_node.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::onnx {
namespace {

/// Elements of their first input are moved, and nothing else.
constexpr std::array<std::string_view, 8> movers{
    "Reshape",   "Squeeze", "Unsqueeze", "Flatten",
    "Transpose", "Gather",  "Slice",     "ArrayFeatureExtractor"};

bool is_cast_to_texts(const NodeContext& context) {
  return context.node().op_type() == "Cast" &&
         context.integer("to", TensorProto::UNDEFINED) == TensorProto::STRING;
}

}  // namespace

bool reads_texts(const NodeContext& context) {
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    if (context.texts(i) != nullptr) return true;
  }
  return false;
}

Operand texts_operand(TensorProto& proto) {
  Tensor places{DType::i64, {proto.dims().begin(), proto.dims().end()}, {}};
  std::int64_t count = 1;
  for (const std::int64_t dim : places.dims) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) count = -1;
    if (count < 0) break;
  }
  if (count != proto.string_data_size())
    throw Error(ErrorKind::model,
                fmt::format("the tensor {}: it has {} texts, which do not fit its dims",
                            proto.name(), proto.string_data_size()));
  std::vector<std::int64_t> each(static_cast<std::size_t>(count));
  std::iota(each.begin(), each.end(), 0);
  places.bytes.assign(reinterpret_cast<const char*>(each.data()), each.size() * sizeof each[0]);
  Operand operand{graph::no_value, std::make_shared<const Tensor>(std::move(places)), std::nullopt,
                  proto.name()};
  operand.texts = std::make_shared<const std::vector<std::string>>(proto.string_data().begin(),
                                                                   proto.string_data().end());
  proto.clear_string_data();
  return operand;
}

void convert_texts(GraphState& state, NodeProto& node, NodeContext& context,
                   const Conversion& conversion) {
  if (context.texts(0) == nullptr) return conversion.convert(context);
  if (is_cast_to_texts(context)) return context.give(context.operand(0));
  if (std::ranges::find(movers, node.op_type()) == movers.end()) return conversion.convert(context);
  const std::string& name = node.input(0);
  const std::shared_ptr<Operand> given = context.operand(0);
  auto places = std::make_shared<Operand>(*given);
  places->texts = nullptr;
  state.operands[name] = places;
  conversion.convert(context);
  given->id = places->id;
  state.operands[name] = given;
  const auto made = state.operands.find(node.output(0));
  if (made == state.operands.end()) return;
  auto moved = std::make_shared<Operand>(*made->second);
  moved->texts = given->texts;
  made->second = std::move(moved);
}

}  // namespace dyn::onnx
