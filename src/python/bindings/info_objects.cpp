#include "src/python/bindings/info_objects.hpp"

#include <limits>
#include <string>

#include <nanobind/stl/optional.h>

#include "src/python/bindings/text_property.hpp"

namespace dyn::python {
namespace {

constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

const char* name_of_kind(DimInfo::Kind kind) {
  constexpr const char* names[] = {"constant", "named", "expression", "open"};
  return names[static_cast<std::size_t>(kind)];
}

/// "S in 1..512, a multiple of 8, hint 128"
std::string line_of(const DimInfo& dim) {
  std::string text = dim.text;
  if (dim.kind == DimInfo::Kind::constant || dim.kind == DimInfo::Kind::open) return text;
  text += " in " + std::to_string(dim.low) + "..";
  if (dim.high != unbounded) text += std::to_string(dim.high);
  if (dim.divisor > 1) text += ", a multiple of " + std::to_string(dim.divisor);
  if (dim.hint) text += ", hint " + std::to_string(*dim.hint);
  return text + (dim.computed ? ", computed by the run" : "");
}

/// "encoder/matmul.3: matmul (matmul, add, gelu) on cpu/avx512"
std::string line_of(const KernelInfo& kernel) {
  std::string operators;
  for (const std::string& own : kernel.operators)
    operators += (operators.empty() ? "" : ", ") + own;
  return kernel.name + ": " + kernel.backbone + " (" + operators + ") on " + kernel.device;
}

void register_dim(nb::module_& module) {
  nb::class_<DimInfo> own(module, "Dim", "One size of a shape, or a dim that the model names.");
  define_text<&DimInfo::text>(own, "text", "def text(self) -> str",
                              "\"768\", \"S\", \"floordiv(S, 2) + 1\"; \"_\" where kind is open.");
  own.def_prop_ro(
         "kind", [](const DimInfo& self) { return name_of_kind(self.kind); },
         nb::sig("def kind(self) -> typing.Literal[\"constant\", \"named\", \"expression\", "
                 "\"open\"]"),
         "\"named\": an input or a run gives it its value. \"expression\": of named dims.\n"
         "\"open\": nothing is known, as the structure of the model is not.")
      .def_ro("low", &DimInfo::low, "The lower bound of its values, itself among them.")
      .def_prop_ro(
          "high",
          [](const DimInfo& self) {
            return self.high == unbounded ? nb::none() : nb::object(nb::int_(self.high));
          },
          nb::sig("def high(self) -> int | None"),
          "The upper bound, itself among them; None: there is none.")
      .def_ro("divisor", &DimInfo::divisor,
              "All values are multiples of it; 0 where the dim is the constant 0.")
      .def_ro("hint", &DimInfo::hint,
              "The size that the model takes to be usual, where the dim is a named one.")
      .def_ro("computed", &DimInfo::computed,
              "Operators compute this named dim when the model runs.")
      .def(
          "__str__", [](const DimInfo& self) { return to_python(self.text); },
          nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](const DimInfo& self) { return repr_of("Dim", line_of(self)); },
          nb::sig("def __repr__(self) -> str"));
}

std::string line_of(const StateInfo& state) {
  return state.name + ": " + std::string(name_of(state.dtype)) + state.shape +
         ", appended along axis " + std::to_string(state.axis);
}

void register_state(nb::module_& module) {
  nb::class_<StateInfo> own(module, "State", "A state that a Session keeps from run to run.");
  define_text<&StateInfo::name>(own, "name", "def name(self) -> str");
  define_text<&StateInfo::shape>(own, "shape", "def shape(self) -> str", "\"[B, C, 768]\"");
  own.def_prop_ro(
         "dtype", [](const StateInfo& self) { return to_python(name_of(self.dtype)); },
         nb::sig("def dtype(self) -> str"))
      .def_prop_ro(
          "dims", [](const StateInfo& self) { return nb::tuple(to_list(self.dims)); },
          nb::sig("def dims(self) -> tuple[Dim, ...]"))
      .def_ro("axis", &StateInfo::axis, "The one along which runs append positions.")
      .def(
          "__repr__", [](const StateInfo& self) { return repr_of("State", line_of(self)); },
          nb::sig("def __repr__(self) -> str"));
}

std::string line_of(const ModelMetadata& metadata) {
  std::string text = metadata.format + " of " + metadata.source + ": graph " + metadata.graph;
  if (!metadata.producer.empty())
    text += ", by " + metadata.producer + (metadata.producer_version.empty() ? "" : " ") +
            metadata.producer_version;
  for (const auto& [domain, version] : metadata.opsets)
    text += ", opset " + (domain.empty() ? "" : domain + " ") + std::to_string(version);
  return text;
}

void register_metadata(nb::module_& module) {
  using M = ModelMetadata;
  nb::class_<M> own(module, "Metadata",
                    "A model's description of itself, in its file. Empty or 0: it does not say\n"
                    "it, or the format has no such thing.");
  define_text<&M::format>(own, "format", "def format(self) -> str", "\"dyn\" or \"onnx\".");
  define_text<&M::source>(own, "source", "def source(self) -> str",
                          "The path or name that it was loaded by.");
  define_text<&M::graph>(own, "graph", "def graph(self) -> str");
  define_text<&M::producer>(own, "producer", "def producer(self) -> str");
  define_text<&M::producer_version>(own, "producer_version", "def producer_version(self) -> str");
  define_text<&M::domain>(own, "domain", "def domain(self) -> str");
  define_text<&M::description>(own, "description", "def description(self) -> str");
  define_text<&M::graph_description>(own, "graph_description",
                                     "def graph_description(self) -> str");
  own.def_ro("version", &M::version, "ONNX's model_version.")
      .def_ro("ir_version", &M::ir_version)
      .def_prop_ro(
          "opsets",
          [](const M& self) {
            nb::dict opsets;
            for (const auto& [domain, version] : self.opsets) opsets[to_python(domain)] = version;
            return opsets;
          },
          nb::sig("def opsets(self) -> dict[str, int]"),
          "Versions of the operators by domain: \"\" is ONNX's own.")
      .def_prop_ro(
          "properties",
          [](const M& self) {
            nb::dict properties;
            for (const auto& [key, value] : self.properties)
              properties[to_python(key)] = to_python(value);
            return properties;
          },
          nb::sig("def properties(self) -> dict[str, str]"), "ONNX's metadata_props.")
      .def(
          "__repr__", [](const M& self) { return repr_of("Metadata", line_of(self)); },
          nb::sig("def __repr__(self) -> str"));
}

std::string line_of(const KernelChoice& choice) {
  std::string text = line_of(choice.kernel);
  if (!choice.program.empty())
    text += ": " + choice.program + ", of " + std::to_string(choice.candidates) + " candidates";
  return text;
}

void register_kernels(nb::module_& module) {
  nb::class_<KernelInfo> kernel(module, "Kernel", "Operators that run as one kernel.");
  define_text<&KernelInfo::name>(kernel, "name", "def name(self) -> str",
                                 "Distinct within what is compiled together.");
  define_text<&KernelInfo::backbone>(kernel, "backbone", "def backbone(self) -> str",
                                     "\"matmul\", \"attention\", \"recurrence\", \"reduction\",\n"
                                     "\"elementwise\", \"copy\" or \"host\".");
  define_text<&KernelInfo::device>(kernel, "device", "def device(self) -> str",
                                   "\"cpu/avx512\", \"cuda/h200\"");
  kernel
      .def_prop_ro(
          "operators", [](const KernelInfo& self) { return to_list(self.operators); },
          nb::sig("def operators(self) -> list[str]"))
      .def(
          "__repr__", [](const KernelInfo& self) { return repr_of("Kernel", line_of(self)); },
          nb::sig("def __repr__(self) -> str"));

  nb::class_<KernelChoice> choice(module, "KernelChoice",
                                  "The program that a kernel runs at one shape.");
  define_text<&KernelChoice::program>(choice, "program", "def program(self) -> str",
                                      "In words; empty where there is one way to run it.");
  choice.def_ro("kernel", &KernelChoice::kernel)
      .def_ro("candidates", &KernelChoice::candidates,
              "Programs that the policy considers; 0: there is one way to run it.")
      .def_ro("threads", &KernelChoice::threads, "For which there is work.")
      .def_ro("predicted_seconds", &KernelChoice::predicted_seconds)
      .def_ro("flops", &KernelChoice::flops, "Those of products; a multiply-add counts as two.")
      .def_ro("bytes", &KernelChoice::bytes, "Those of operands, each read or written once.")
      .def(
          "__repr__",
          [](const KernelChoice& self) { return repr_of("KernelChoice", line_of(self)); },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace

nb::object to_list(const std::vector<std::string>& texts) {
  nb::list list;
  for (const std::string& text : texts) list.append(to_python(text));
  return list;
}

void register_info(nb::module_& module) {
  register_dim(module);
  register_state(module);
  register_metadata(module);
  register_kernels(module);
}

}  // namespace dyn::python
