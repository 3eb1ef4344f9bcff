#pragma once
// dyn::Builder: a model made in the program, operator by operator.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dyn/dim.hpp"
#include "dyn/dtype.hpp"
#include "dyn/export.hpp"
#include "dyn/graph.hpp"
#include "dyn/info.hpp"
#include "dyn/options.hpp"
#include "dyn/tensor.hpp"

namespace dyn {

namespace runtime {
class BuilderState;
}

/// The value of an attribute; the operator's table says of which kind it must be. An integer is a
/// number where one is asked for.
class DYN_API AttributeValue {
 public:
  AttributeValue() : held_(Dims()) {}
  // NOLINTBEGIN(google-explicit-constructor)
  template <std::same_as<bool> Truth>  // no pointer becomes one
  AttributeValue(Truth value) : held_(value) {}
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  AttributeValue(Integer value) : held_(Dim(value)) {}
  template <std::floating_point Number>
  AttributeValue(Number value) : held_(static_cast<double>(value)) {}
  AttributeValue(Dim value) : held_(std::move(value)) {}
  AttributeValue(std::string word) : held_(std::move(word)) {}
  AttributeValue(std::string_view word) : held_(std::string(word)) {}
  AttributeValue(const char* word) : held_(std::string(word)) {}
  AttributeValue(DType dtype) : held_(std::string(name_of(dtype))) {}
  AttributeValue(Dims list) : held_(std::move(list)) {}
  AttributeValue(std::initializer_list<Dim> list) : held_(Dims(list)) {}
  AttributeValue(const std::vector<std::int64_t>& list) : held_(Dims(list.begin(), list.end())) {}
  // NOLINTEND(google-explicit-constructor)

  using Held = std::variant<bool, double, std::string, Dim, Dims>;
  const Held& held() const noexcept { return held_; }

 private:
  Held held_;
};

struct Attribute {
  std::string name;
  AttributeValue value;
};
/// {{"axis", -1}, {"shape", {N, 24}}}
using Attributes = std::vector<Attribute>;

/// A tensor of a model that is being built, or a number that takes the dtype of the tensor beside
/// it. Copies mean the same tensor. It belongs to its Builder, which it keeps alive.
class DYN_API Value {
 public:
  /// A number.
  // NOLINTBEGIN(google-explicit-constructor)
  template <std::same_as<bool> Truth>
  Value(Truth value) : number_(value) {}
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  Value(Integer value) : number_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point Number>
  Value(Number value) : number_(static_cast<double>(value)) {}
  // NOLINTEND(google-explicit-constructor)
  /// A number of this dtype, whatever stands beside it. Throws Error(model) where it has no such
  /// value.
  static Value number(DType dtype, double value);
  static Value number(DType dtype, std::int64_t value);

  /// The tensor's type, with all that is known of its dims so far. Throw Error(user) for a number.
  DType dtype() const;
  Dims dims() const;
  std::size_t rank() const { return dims().size(); }
  std::string name() const;
  /// The same as loaded models have it of their ports.
  PortInfo info() const;
  /// Renames the result of an operator; messages, the text and `dynrun inspect` say so. Throws
  /// Error(model) where another value has the name.
  const Value& named(const std::string& name) const;

 private:
  friend class runtime::BuilderState;
  DYN_INTERNAL Value(std::shared_ptr<runtime::BuilderState> state, std::int32_t id)
      : state_(std::move(state)), id_(id) {}

  std::shared_ptr<runtime::BuilderState> state_;  ///< nullptr: a number
  std::int32_t id_ = -1;
  std::variant<bool, std::int64_t, double> number_ = false;
  std::optional<DType> number_dtype_;
};

using Values = std::vector<Value>;

/// The operator that the text calls so (docs/ir.md), with one result, in the model of its inputs.
/// Errors are those of Builder::op.
DYN_API Value op(std::string_view name, const Values& inputs, const Attributes& attributes = {});
/// The same for operators with several results. `results`: of an operator that has any number.
DYN_API Values ops(std::string_view name, const Values& inputs, const Attributes& attributes = {},
                   std::size_t results = 0);

DYN_API Value operator+(const Value& a, const Value& b);
DYN_API Value operator-(const Value& a, const Value& b);
DYN_API Value operator*(const Value& a, const Value& b);
DYN_API Value operator/(const Value& a, const Value& b);
DYN_API Value operator-(const Value& a);

/// Makes one model. Operators are checked, and the types of their results known, as they are added:
/// errors are thrown by the call that is wrong, as Error(model) that names the node and its
/// operator. `to_text`, `weights` and `load` end the building: the model is whole then, and further
/// changes are an Error(user). Copies are the same model. Not for several threads at once.
class DYN_API Builder {
 public:
  /// `operators`: the program's, which `op` knows besides dyn's.
  explicit Builder(const std::string& name = "graph", const Operators& operators = {});

  /// A dim, which inputs bind at each run. Throws Error(model) for a name that is taken or cannot
  /// be one, and for a range without values.
  Dim dim(const std::string& name, const DimRange& range = {});
  Dim dim(const std::string& name, std::int64_t low, std::int64_t high);
  /// A dim without a name.
  Dim dim();
  /// Sizes as the text writes them: "[N, floordiv(N, 2), _]", where _ is a dim without a name.
  /// Throws Error(model) for what is no such list, with the place in it.
  Dims dims(std::string_view text);

  Value input(const std::string& name, DType dtype, Dims dims);
  /// A weight with these elements. The memory must stay as it is until the last load.
  Value weight(const std::string& name, const Tensor& elements);
  /// A weight of the safetensors files of weight_file(); its name is its key there.
  Value weight(const std::string& name, DType dtype, const Shape& shape);
  /// Weights without a file: one element everywhere, and seeded normal ones (docs/ir.md).
  Value splat(const std::string& name, DType dtype, const Shape& shape, double element);
  Value random(const std::string& name, DType dtype, const Shape& shape, std::uint64_t seed);
  void weight_file(const std::string& path);
  /// A buffer that a session keeps from run to run; `append` alone takes it.
  Value state(const std::string& name, DType dtype, Dims dims);

  /// A node of the operator that the text calls so, or of one of the program's. Its result has this
  /// name; empty: that of the operator, made unique. Throws Error(model) where there is no such
  /// operator or attribute, and for inputs and attributes that it does not take.
  Value op(std::string_view name, const Values& inputs, const Attributes& attributes = {},
           const std::string& result = "");
  Values ops(std::string_view name, const Values& inputs, const Attributes& attributes = {},
             std::size_t results = 0);

  /// Outputs come in the order of these calls.
  void output(const std::string& name, const Value& value);

  /// The model as `dyn::Graph::from_text` reads it.
  std::string to_text();
  /// The safetensors file of the weights that were given with their elements, which the text calls
  /// "weights.safetensors"; empty without such. Graph::from_memory(to_text(),
  /// {{"weights.safetensors", weights()}}) is load().
  std::string weights();
  /// The model keeps the builder's operators; Options::operators and Options::plugins are not
  /// looked at. Throws as Graph::load does.
  Graph load(const Options& options = {}, const std::string& weight_directory = ".");

 private:
  friend class runtime::BuilderState;
  DYN_INTERNAL explicit Builder(std::shared_ptr<runtime::BuilderState> state);
  std::shared_ptr<runtime::BuilderState> state_;
};

}  // namespace dyn
