#pragma once
// The functions of a plug-in's operator, as those of a dyn::Operator.

#include <vector>

#include "dyn/operator.hpp"
#include "dyn/plugin.h"

namespace dyn::c {

/// Each calls the function of this name, checks what it gives, and throws the Error that it has
/// failed with.
std::vector<TensorType> call_shape(const dyn_plugin_operator& from, const ShapeContext& context);
void call_kernel(const dyn_plugin_operator& from, const KernelContext& context);
Values call_definition(const dyn_plugin_operator& from, Builder& builder, const Values& inputs,
                       const NodeAttributes& attributes);

}  // namespace dyn::c
