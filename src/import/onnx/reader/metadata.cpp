#include "src/import/onnx/reader/metadata.hpp"

#include <fmt/format.h>

#include "src/import/onnx/messages/messages.hpp"
#include "src/import/onnx/reader/tensor.hpp"

namespace dyn::onnx {
namespace {

DimInfo declared_dim(const TensorShapeProto::Dimension& dim) {
  if (dim.dim_value() > 0)
    return {.kind = DimInfo::Kind::constant,
            .text = fmt::to_string(dim.dim_value()),
            .low = dim.dim_value(),
            .high = dim.dim_value(),
            .divisor = dim.dim_value()};
  if (dim.dim_param().empty()) return {.kind = DimInfo::Kind::open, .text = "_"};
  return {.kind = DimInfo::Kind::named, .text = dim.dim_param()};
}

}  // namespace

ModelMetadata metadata_of(const ModelProto& model, const std::string& source) {
  ModelMetadata metadata{.format = "onnx",
                         .source = source,
                         .graph = model.graph().name(),
                         .producer = model.producer_name(),
                         .producer_version = model.producer_version(),
                         .domain = model.domain(),
                         .version = model.model_version(),
                         .ir_version = model.ir_version(),
                         .description = model.doc_string(),
                         .graph_description = model.graph().doc_string(),
                         .opsets = {},
                         .properties = {}};
  for (const OperatorSetIdProto& opset : model.opset_import())
    metadata.opsets[opset.domain()] = opset.version();
  for (const StringStringEntryProto& entry : model.metadata_props())
    metadata.properties[entry.key()] = entry.value();
  return metadata;
}

PortInfo declared_port(const ValueInfoProto& port) {
  const TypeProto::Tensor& tensor = port.type().tensor_type();
  PortInfo info{port.name(), DType::f32, "_"};
  if (tensor.elem_type() == TensorProto::STRING)
    info.dtype = DType::i64;
  else if (tensor.elem_type() != TensorProto::UNDEFINED)
    info.dtype = dtype_of(tensor.elem_type());
  if (!tensor.has_shape()) return info;
  std::string shape;
  for (const TensorShapeProto::Dimension& dim : tensor.shape().dim()) {
    info.dims.push_back(declared_dim(dim));
    shape += (shape.empty() ? "" : ", ") + info.dims.back().text;
  }
  info.shape = "[" + shape + "]";
  return info;
}

}  // namespace dyn::onnx
