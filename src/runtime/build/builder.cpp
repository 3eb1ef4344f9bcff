// The public handles of a model that is being built.

#include "dyn/builder.hpp"

#include <utility>

#include "src/runtime/build/builder_state.hpp"

namespace dyn {

using runtime::BuilderState;

Value Value::number(DType dtype, double value) {
  Value number(value);
  number.number_dtype_ = dtype;
  return number;
}
Value Value::number(DType dtype, std::int64_t value) {
  Value number(value);
  number.number_dtype_ = dtype;
  return number;
}

DType Value::dtype() const { return BuilderState::of(*this).type(id_).dtype; }
Dims Value::dims() const { return BuilderState::of(*this).dims(id_); }
std::string Value::name() const { return BuilderState::of(*this).name_of(id_); }
PortInfo Value::info() const { return BuilderState::of(*this).info(id_); }
const Value& Value::named(const std::string& name) const {
  BuilderState::of(*this).rename(id_, name);
  return *this;
}

Value op(std::string_view name, const Values& inputs, const Attributes& attributes) {
  return BuilderState::of(name, inputs)->add(name, inputs, attributes, 1, "").front();
}
Values ops(std::string_view name, const Values& inputs, const Attributes& attributes,
           std::size_t results) {
  return BuilderState::of(name, inputs)->add(name, inputs, attributes, results, "");
}

Value operator+(const Value& a, const Value& b) { return op("add", {a, b}); }
Value operator-(const Value& a, const Value& b) { return op("sub", {a, b}); }
Value operator*(const Value& a, const Value& b) { return op("mul", {a, b}); }
Value operator/(const Value& a, const Value& b) { return op("div", {a, b}); }
Value operator-(const Value& a) { return op("neg", {a}); }

Builder::Builder(const std::string& name, const Operators& operators)
    : state_(std::make_shared<BuilderState>(name, operators)) {}
Builder::Builder(std::shared_ptr<BuilderState> state) : state_(std::move(state)) {}

Dim Builder::dim(const std::string& name, const DimRange& range) {
  return state_->dim(name, range);
}
Dim Builder::dim(const std::string& name, std::int64_t low, std::int64_t high) {
  return state_->dim(name, {low, high});
}
Dim Builder::dim() { return state_->dim("", {}); }
Dims Builder::dims(std::string_view text) { return state_->read_dims(text); }

Value Builder::input(const std::string& name, DType dtype, Dims dims) {
  return state_->input(name, dtype, dims);
}
Value Builder::weight(const std::string& name, const Tensor& elements) {
  return state_->weight(name, elements);
}
Value Builder::weight(const std::string& name, DType dtype, const Shape& shape) {
  return state_->weight(name, dtype, shape, {});
}
Value Builder::splat(const std::string& name, DType dtype, const Shape& shape, double element) {
  return state_->weight(name, dtype, shape, {graph::WeightSource::Kind::Splat, element, 0, {}});
}
Value Builder::random(const std::string& name, DType dtype, const Shape& shape,
                      std::uint64_t seed) {
  return state_->weight(name, dtype, shape, {graph::WeightSource::Kind::Random, 0, seed, {}});
}
void Builder::weight_file(const std::string& path) { state_->weight_file(path); }
Value Builder::state(const std::string& name, DType dtype, Dims dims) {
  return state_->state(name, dtype, dims);
}

Value Builder::op(std::string_view name, const Values& inputs, const Attributes& attributes,
                  const std::string& result) {
  return state_->add(name, inputs, attributes, 1, result).front();
}
Values Builder::ops(std::string_view name, const Values& inputs, const Attributes& attributes,
                    std::size_t results) {
  return state_->add(name, inputs, attributes, results, "");
}

void Builder::output(const std::string& name, const Value& value) { state_->output(name, value); }
std::string Builder::to_text() { return state_->text(); }
std::string Builder::weights() { return state_->weights(); }

}  // namespace dyn
