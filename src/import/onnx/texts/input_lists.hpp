#pragma once
// Which texts a model looks for in its inputs.

#include <map>
#include <string>

#include "src/import/onnx/functions.hpp"
#include "src/import/onnx/messages/messages.hpp"
#include "src/import/onnx/texts/text_list.hpp"

namespace dyn::onnx {

/// True for an input or output that is a tensor of texts.
bool holds_texts(const ValueInfoProto& port);

/// For each input of texts of the graph an open list: all texts of the file that nodes may look for
/// in it. Inputs whose texts meet in a node have one list. The lists depend on nothing but the
/// file, so that all structures of a model have the same ones.
std::map<std::string, TextListPtr> lists_of_inputs(const ModelProto& model,
                                                   const Functions& functions);

}  // namespace dyn::onnx
