#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/c/objects.hpp"

using dyn::Graph;
using dyn::PortInfo;
using dyn::c::given;
using dyn::c::gives;
using dyn::c::GraphHandle;
using dyn::c::guarded;
using dyn::c::makes;
using dyn::c::options_of;
using dyn::c::PortHandle;
using dyn::c::required_text;
using dyn::c::ShapesHandle;
using dyn::c::Used;

namespace {

std::string_view text_of(const void* text, size_t length, const char* argument) {
  dyn::c::check_pointer(text, 1, argument);
  return {static_cast<const char*>(text), length};
}

PortInfo port_number(const std::vector<PortInfo>& ports, size_t index, const char* what) {
  return dyn::c::element_at(ports, index, what, "the model has");
}

dyn_load_report c_report(const dyn::LoadReport& report) {
  dyn_load_report all{};
  all.total = report.total;
  all.parse = report.parse;
  all.compile = report.compile;
  all.measure = report.measure;
  all.weights = report.weights;
  all.random_weights = report.random_weights;
  all.machine = report.machine;
  all.weights_write = report.weights_write;
  all.kernels = report.kernels;
  all.kernels_compiled = report.kernels_compiled;
  all.kernels_from_disk = report.kernels_from_disk;
  all.weights_from_disk = report.weights_from_disk ? 1 : 0;
  all.weight_bytes = report.weight_bytes;
  all.weight_bytes_mapped = report.weight_bytes_mapped;
  return all;
}

}  // namespace

extern "C" {

dyn_status* dyn_graph_load(const char* path, const dyn_options* options,
                           dyn_graph** graph) noexcept {
  return makes<GraphHandle>(graph, "graph", [&] {
    return Graph::load(std::string(required_text(path, "path")), options_of(options));
  });
}

dyn_status* dyn_graph_from_text(const char* text, size_t length, const dyn_options* options,
                                const char* weight_directory, dyn_graph** graph) noexcept {
  return makes<GraphHandle>(graph, "graph", [&] {
    return Graph::from_text(text_of(text, length, "text"), options_of(options),
                            weight_directory == nullptr ? "." : weight_directory);
  });
}

dyn_status* dyn_graph_from_memory(const void* model, size_t bytes, size_t file_count,
                                  const dyn_named_bytes* files, const dyn_options* options,
                                  dyn_graph** graph) noexcept {
  return makes<GraphHandle>(graph, "graph", [&] {
    std::map<std::string, std::string_view> views;
    for (const dyn_named_bytes& file : dyn::c::required_array(files, file_count, "files")) {
      const std::string_view name = required_text(file.name, "files[].name");
      if (file.size > 0) dyn::c::check_pointer(file.data, 1, "files[].data");
      views[std::string(name)] = {static_cast<const char*>(file.data), file.size};
    }
    return Graph::from_memory(text_of(model, bytes, "model"), views, options_of(options));
  });
}

dyn_status* dyn_graph_input_count(const dyn_graph* graph, size_t* count) noexcept {
  return gives(count, "count", [&] { return Used<GraphHandle>(graph)->input_count(); });
}

dyn_status* dyn_graph_output_count(const dyn_graph* graph, size_t* count) noexcept {
  return gives(count, "count", [&] { return Used<GraphHandle>(graph)->output_count(); });
}

dyn_status* dyn_graph_input(const dyn_graph* graph, size_t index, dyn_port** port) noexcept {
  return makes<PortHandle>(port, "port", [&] {
    return port_number(Used<GraphHandle>(graph)->inputs(), index, "input");
  });
}

dyn_status* dyn_graph_output(const dyn_graph* graph, size_t index, dyn_port** port) noexcept {
  return makes<PortHandle>(port, "port", [&] {
    return port_number(Used<GraphHandle>(graph)->outputs(), index, "output");
  });
}

dyn_status* dyn_graph_load_report(const dyn_graph* graph, dyn_load_report* report) noexcept {
  return dyn::c::fills(report, "report",
                       [&] { return c_report(Used<GraphHandle>(graph)->load_report()); });
}

dyn_status* dyn_graph_run(const dyn_graph* graph, size_t input_count,
                          const dyn_named_tensor* inputs, size_t output_count,
                          dyn_tensor** outputs) noexcept {
  return dyn_graph_run_with(graph, input_count, inputs, output_count, outputs, nullptr);
}

dyn_status* dyn_graph_run_with(const dyn_graph* graph, size_t input_count,
                               const dyn_named_tensor* inputs, size_t output_count,
                               dyn_tensor** outputs, const dyn_run_options* options) noexcept {
  return guarded([&] {
    dyn::c::clear_outputs(output_count, outputs);
    const dyn::RunOptions ends = dyn::c::run_options_of(options);
    const Used<GraphHandle> used(graph);
    dyn::c::give_outputs(used->run(dyn::c::named_tensors(input_count, inputs), ends), output_count,
                         outputs);
  });
}

dyn_status* dyn_graph_memory_needed(const dyn_graph* graph, size_t input_count,
                                    const dyn_named_shape* inputs,
                                    dyn_memory_needed* needed) noexcept {
  return dyn::c::fills(needed, "needed", [&] {
    const dyn::MemoryNeeded memory =
        Used<GraphHandle>(graph)->memory_needed(dyn::c::named_shapes(input_count, inputs));
    return dyn_memory_needed{0, memory.weights, memory.intermediates, memory.outputs};
  });
}

dyn_status* dyn_graph_trim(const dyn_graph* graph) noexcept {
  return guarded([&] { Used<GraphHandle>(graph)->trim(); });
}

dyn_status* dyn_graph_infer_shapes(const dyn_graph* graph, size_t input_count,
                                   const dyn_named_shape* inputs, dyn_shapes** outputs) noexcept {
  return makes<ShapesHandle>(outputs, "outputs", [&] {
    return Used<GraphHandle>(graph)->infer_shapes(dyn::c::named_shapes(input_count, inputs));
  });
}

dyn_status* dyn_graph_prepare(const dyn_graph* graph, size_t input_count,
                              const dyn_named_shape* inputs) noexcept {
  return guarded(
      [&] { Used<GraphHandle>(graph)->prepare(dyn::c::named_shapes(input_count, inputs)); });
}

dyn_status* dyn_graph_kernels_compiled_since_load(const dyn_graph* graph, int64_t* count) noexcept {
  return gives(count, "count",
               [&] { return Used<GraphHandle>(graph)->kernels_compiled_since_load(); });
}

dyn_status* dyn_graph_shapes_planned(const dyn_graph* graph, int64_t* count) noexcept {
  return gives(count, "count", [&] { return Used<GraphHandle>(graph)->shapes_planned(); });
}

void dyn_graph_release(dyn_graph* graph) noexcept {
  dyn::c::release_handle(GraphHandle::kind, graph);
}

dyn_status* dyn_port_name(const dyn_port* port, const char** name) noexcept {
  return gives(name, "name", [&] { return Used<PortHandle>(port)->name.c_str(); });
}

dyn_status* dyn_port_dtype(const dyn_port* port, dyn_dtype* dtype) noexcept {
  return gives(dtype, "dtype", [&] { return dyn::c::c_dtype(Used<PortHandle>(port)->dtype); });
}

dyn_status* dyn_port_shape(const dyn_port* port, const char** shape) noexcept {
  return gives(shape, "shape", [&] { return Used<PortHandle>(port)->shape.c_str(); });
}

dyn_status* dyn_port_text_count(const dyn_port* port, bool* is_text, size_t* count) noexcept {
  return guarded([&] {
    bool& is_one = given(is_text, "is_text");
    size_t& place = given(count, "count");
    const Used<PortHandle> used(port);
    is_one = used->texts != nullptr;
    place = is_one ? used->texts->size() : 0;
  });
}

dyn_status* dyn_port_text(const dyn_port* port, size_t index, const char** text,
                          size_t* length) noexcept {
  return guarded([&] {
    const char*& place = given(text, "text");
    size_t& size = given(length, "length");
    const Used<PortHandle> used(port);
    static const std::vector<std::string> none;
    const std::string& found =
        dyn::c::element_at(used->texts == nullptr ? none : *used->texts, index, "text",
                           fmt::format("the port '{}' has", used->name));
    place = found.c_str();
    size = found.size();
  });
}

void dyn_port_release(dyn_port* port) noexcept { dyn::c::release_handle(PortHandle::kind, port); }

dyn_status* dyn_shapes_count(const dyn_shapes* shapes, size_t* count) noexcept {
  return gives(count, "count", [&] { return Used<ShapesHandle>(shapes)->size(); });
}

dyn_status* dyn_shapes_get(const dyn_shapes* shapes, size_t index,
                           dyn_named_shape* shape) noexcept {
  return gives(shape, "shape", [&] {
    const Used<ShapesHandle> used(shapes);
    const auto& [name, sizes] = dyn::c::element_at(*used, index, "shape");
    return dyn_named_shape{name.c_str(), sizes.size(), sizes.data()};
  });
}

void dyn_shapes_release(dyn_shapes* shapes) noexcept {
  dyn::c::release_handle(ShapesHandle::kind, shapes);
}

}  // extern "C"
