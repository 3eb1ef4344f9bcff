#include "src/python/bindings/run.hpp"

#include <string_view>
#include <utility>

#include "src/python/bindings/arrays/dtypes.hpp"
#include "src/python/bindings/arrays/tensor_object.hpp"
#include "src/python/bindings/profile_object.hpp"
#include "src/python/bindings/texts.hpp"

namespace dyn::python {
namespace {

/// Nothing where the text has lone surrogates, which no name has.
std::string_view view_of_text(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) PyErr_Clear();
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<std::size_t>(size));
}

bool is_places(nb::handle array) {
  return nb::hasattr(array, "dtype") && text_of(array.attr("dtype")) == row_of(DType::i64).numpy;
}

}  // namespace

CoderLease::~CoderLease() {
  if (coder_ == nullptr) return;
  coder_->forget();
  state_.idle_coders.push_back(std::move(coder_));
}

TextCoder& CoderLease::operator*() {
  if (coder_ == nullptr && !state_.idle_coders.empty()) {
    coder_ = std::move(state_.idle_coders.back());
    state_.idle_coders.pop_back();
  }
  if (coder_ == nullptr)
    coder_ = std::make_unique<TextCoder>(state_.ports.inputs, state_.ports.outputs);
  return *coder_;
}

std::size_t port_index(const std::vector<PortInfo>& ports, nb::handle key, const char* what) {
  if (PyUnicode_Check(key.ptr()) != 0) {
    const std::string_view name = view_of_text(key);
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (ports[i].name == name) return i;
    user_error("the model has no " + std::string(what) + " '" + to_utf8(key) + "'");
  }
  if (PyLong_Check(key.ptr()) == 0)
    user_error("an " + std::string(what) + " has a name or a number, not " + described(key));
  const Py_ssize_t number = PyNumber_AsSsize_t(key.ptr(), nullptr);
  if (number < 0 || static_cast<std::size_t>(number) >= ports.size())
    user_error("there is no " + std::string(what) + " number " + std::to_string(number) +
               "; the model has " + std::to_string(ports.size()));
  return static_cast<std::size_t>(number);
}

Given input_tensor(const PortInfo& port, nb::handle array, Layout layout, CoderLease& coder) {
  if (port.texts != nullptr && !is_places(array)) return {encode(*coder, port, array), nullptr};
  return given(array, {"input", port.name}, layout, port.dtype);
}

nb::object output_array(const PortInfo& port, const Tensor& tensor, CoderLease& coder) {
  return port.texts != nullptr ? decode(*coder, port, tensor) : to_array(tensor);
}

Run::Run(Call& call, GraphState& state) : call_(call), state_(state), coder_(state) {
  loans_.reserve(state.ports.inputs.size());
}

void Run::give(nb::handle inputs) {
  each_array(inputs, "inputs", [&](const nb::object& key, const nb::object& array) {
    const std::size_t index = port_index(state_.ports.inputs, key, "input");
    Given own = input_tensor(state_.ports.inputs[index], array, Layout::copy, coder_);
    call_.set_input(index, std::move(own.tensor));
    if (own.loan != nullptr) loans_.push_back(std::move(own.loan));
  });
}

void Run::bind(nb::handle outputs) {
  if (outputs.is_none()) return;
  bound_.resize(state_.ports.outputs.size());
  each_array(outputs, "outputs", [&](const nb::object& key, const nb::object& array) {
    const std::size_t index = port_index(state_.ports.outputs, key, "output");
    const PortInfo& port = state_.ports.outputs[index];
    Given own = given(array, {"output", port.name}, Layout::refuse, port.dtype);
    call_.set_output(index, std::move(own.tensor));
    if (own.loan != nullptr) loans_.push_back(std::move(own.loan));
    bound_[index] = array;
  });
}

void Run::go(const RunOptions& options, nb::handle profile) {
  run_call(call_, state_.failure.get(), options, profile);
}

nb::object Run::output(std::size_t index) {
  if (index < bound_.size() && bound_[index].is_valid()) return bound_[index];
  return output_array(state_.ports.outputs[index], call_.output(index), coder_);
}

nb::object Run::output_tensor(std::size_t index) {
  if (index < bound_.size() && bound_[index].is_valid()) return bound_[index];
  const PortInfo& port = state_.ports.outputs[index];
  if (port.texts != nullptr)
    throw Error(ErrorKind::unsupported, "output '" + port.name +
                                            "' has texts, which no tensor of Python's holds; run() "
                                            "gives them as an array");
  return nb::cast(TensorObject(call_.output(index)));
}

}  // namespace dyn::python
