// What a model says about itself.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/c/objects.hpp"

using dyn::DimInfo;
using dyn::KernelChoice;
using dyn::KernelInfo;
using dyn::c::DimsHandle;
using dyn::c::element_at;
using dyn::c::fills;
using dyn::c::given;
using dyn::c::gives;
using dyn::c::GraphHandle;
using dyn::c::guarded;
using dyn::c::KernelsHandle;
using dyn::c::makes;
using dyn::c::MetadataHandle;
using dyn::c::NamedKernel;
using dyn::c::PortHandle;
using dyn::c::Used;

namespace {

/// Its texts stay as long as `dim`.
dyn_dim c_dim(const DimInfo& dim) {
  dyn_dim all{};
  all.text = dim.text.c_str();
  all.low = dim.low;
  all.high = dim.high;
  all.divisor = dim.divisor;
  all.hint = dim.hint.value_or(0);
  all.kind = static_cast<dyn_dim_kind>(dim.kind);
  all.has_hint = dim.hint.has_value();
  all.computed = dim.computed;
  return all;
}

dyn_model_info c_model_info(const dyn::ModelMetadata& metadata) {
  dyn_model_info all{};
  all.format = metadata.format.c_str();
  all.source = metadata.source.c_str();
  all.graph = metadata.graph.c_str();
  all.producer = metadata.producer.c_str();
  all.producer_version = metadata.producer_version.c_str();
  all.domain = metadata.domain.c_str();
  all.description = metadata.description.c_str();
  all.graph_description = metadata.graph_description.c_str();
  all.version = metadata.version;
  all.ir_version = metadata.ir_version;
  all.opset_count = metadata.opsets.size();
  all.property_count = metadata.properties.size();
  return all;
}

dyn_kernel c_kernel(const NamedKernel& kernel) {
  const KernelChoice& choice = kernel.choice;
  dyn_kernel all{};
  all.name = choice.kernel.name.c_str();
  all.backbone = choice.kernel.backbone.c_str();
  all.device = choice.kernel.device.c_str();
  all.operator_count = kernel.operators.size();
  all.operators = kernel.operators.data();
  all.candidates = choice.candidates;
  all.program = choice.program.c_str();
  all.threads = choice.threads;
  all.predicted_seconds = choice.predicted_seconds;
  all.flops = choice.flops;
  all.bytes = choice.bytes;
  return all;
}

/// A handle's, made where they stay, as their operators are named by addresses.
dyn_status* make_kernels(dyn_kernels** kernels, const auto& choices) noexcept {
  return makes<KernelsHandle>(kernels, "kernels", [&] {
    std::vector<NamedKernel> named;
    for (KernelChoice& choice : choices()) named.push_back({std::move(choice), {}});
    for (NamedKernel& kernel : named) {
      for (const std::string& name : kernel.choice.kernel.operators)
        kernel.operators.push_back(name.c_str());
    }
    return named;
  });
}

template <class Value>
const auto& entry_number(const std::map<std::string, Value>& entries, std::size_t index,
                         const char* what) {
  if (index >= entries.size()) dyn::c::refuse_number(index, entries.size(), what, "the model has");
  return *std::next(entries.begin(), static_cast<std::ptrdiff_t>(index));
}

}  // namespace

extern "C" {

dyn_status* dyn_graph_state_count(const dyn_graph* graph, size_t* count) noexcept {
  return gives(count, "count", [&] { return Used<GraphHandle>(graph)->state_count(); });
}

dyn_status* dyn_graph_state(const dyn_graph* graph, size_t index, size_t* axis,
                            dyn_port** port) noexcept {
  return guarded([&] {
    size_t& place = given(axis, "axis");
    dyn_port*& made = given(port, "port");
    const auto states = Used<GraphHandle>(graph)->states();
    const dyn::StateInfo& state = element_at(states, index, "state", "the model has");
    dyn::c::make_handle<PortHandle>(
        made, dyn::PortInfo{state.name, state.dtype, state.shape, nullptr, state.dims});
    place = static_cast<size_t>(state.axis);
  });
}

dyn_status* dyn_graph_dims(const dyn_graph* graph, dyn_dims** dims) noexcept {
  return makes<DimsHandle>(dims, "dims", [&] { return Used<GraphHandle>(graph)->dims(); });
}

dyn_status* dyn_graph_metadata(const dyn_graph* graph, dyn_metadata** metadata) noexcept {
  return makes<MetadataHandle>(metadata, "metadata",
                               [&] { return Used<GraphHandle>(graph)->metadata(); });
}

dyn_status* dyn_graph_kernels(const dyn_graph* graph, dyn_kernels** kernels) noexcept {
  return make_kernels(kernels, [&] {
    std::vector<KernelChoice> choices;
    for (KernelInfo& kernel : Used<GraphHandle>(graph)->kernels())
      choices.push_back({.kernel = std::move(kernel), .program = {}});
    return choices;
  });
}

dyn_status* dyn_graph_kernels_at(const dyn_graph* graph, size_t input_count,
                                 const dyn_named_shape* inputs, dyn_kernels** kernels) noexcept {
  return make_kernels(kernels, [&] {
    return Used<GraphHandle>(graph)->kernels(dyn::c::named_shapes(input_count, inputs));
  });
}

dyn_status* dyn_port_dim_count(const dyn_port* port, size_t* count) noexcept {
  return gives(count, "count", [&] { return Used<PortHandle>(port)->dims.size(); });
}

dyn_status* dyn_port_dim(const dyn_port* port, size_t index, dyn_dim* dim) noexcept {
  return fills(dim, "dim", [&] {
    return c_dim(element_at(Used<PortHandle>(port)->dims, index, "dim", "the port has"));
  });
}

dyn_status* dyn_dims_count(const dyn_dims* dims, size_t* count) noexcept {
  return gives(count, "count", [&] { return Used<DimsHandle>(dims)->size(); });
}

dyn_status* dyn_dims_get(const dyn_dims* dims, size_t index, dyn_dim* dim) noexcept {
  return fills(dim, "dim",
               [&] { return c_dim(element_at(*Used<DimsHandle>(dims), index, "dim")); });
}

void dyn_dims_release(dyn_dims* dims) noexcept { dyn::c::release_handle(DimsHandle::kind, dims); }

dyn_status* dyn_metadata_get(const dyn_metadata* metadata, dyn_model_info* info) noexcept {
  return fills(info, "info", [&] { return c_model_info(*Used<MetadataHandle>(metadata)); });
}

dyn_status* dyn_metadata_opset(const dyn_metadata* metadata, size_t index, const char** domain,
                               int64_t* version) noexcept {
  return guarded([&] {
    const char*& name = given(domain, "domain");
    int64_t& place = given(version, "version");
    const Used<MetadataHandle> used(metadata);
    const auto& found = entry_number(used->opsets, index, "opset");
    name = found.first.c_str();
    place = found.second;
  });
}

dyn_status* dyn_metadata_property(const dyn_metadata* metadata, size_t index, const char** key,
                                  const char** value) noexcept {
  return guarded([&] {
    const char*& name = given(key, "key");
    const char*& text = given(value, "value");
    const Used<MetadataHandle> used(metadata);
    const auto& found = entry_number(used->properties, index, "property");
    name = found.first.c_str();
    text = found.second.c_str();
  });
}

void dyn_metadata_release(dyn_metadata* metadata) noexcept {
  dyn::c::release_handle(MetadataHandle::kind, metadata);
}

dyn_status* dyn_kernels_count(const dyn_kernels* kernels, size_t* count) noexcept {
  return gives(count, "count", [&] { return Used<KernelsHandle>(kernels)->size(); });
}

dyn_status* dyn_kernels_get(const dyn_kernels* kernels, size_t index, dyn_kernel* kernel) noexcept {
  return fills(kernel, "kernel", [&] {
    return c_kernel(element_at(*Used<KernelsHandle>(kernels), index, "kernel"));
  });
}

void dyn_kernels_release(dyn_kernels* kernels) noexcept {
  dyn::c::release_handle(KernelsHandle::kind, kernels);
}

}  // extern "C"
