// Imported Einsum beside a loop over all values of all letters, in double precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "dyn/error.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::check_close;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run_all;
using testing::set_word;
using testing::Values;

namespace {

using Axes = std::vector<std::string>;

/// One operand: the name of each of its axes as the loop has them, and its dims (1 where it
/// broadcasts).
struct Argument {
  Axes axes;
  Shape shape;
};

const std::map<std::string, std::int64_t> extents = {{"a", 2}, {"b", 3}, {"c", 4}, {"d", 5},
                                                     {"e", 2}, {"1", 3}, {"0", 4}};

/// Every combination of the axes' places adds a product to the element of the result that it names.
Values summed(const std::vector<Argument>& arguments, const std::vector<std::vector<float>>& data,
              const Axes& output) {
  Axes all;
  for (const Argument& argument : arguments) {
    for (const std::string& axis : argument.axes) {
      if (std::ranges::find(all, axis) == all.end()) all.push_back(axis);
    }
  }
  std::int64_t count = 1, elements = 1;
  for (const std::string& axis : all) count *= extents.at(axis);
  for (const std::string& axis : output) elements *= extents.at(axis);
  Values result(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < count; ++i) {
    std::map<std::string, std::int64_t> place;
    std::int64_t rest = i;
    for (const std::string& axis : all) {
      place[axis] = rest % extents.at(axis);
      rest /= extents.at(axis);
    }
    double product = 1;
    for (std::size_t j = 0; j < arguments.size(); ++j) {
      std::int64_t index = 0;
      for (std::size_t k = 0; k < arguments[j].axes.size(); ++k)
        index = index * arguments[j].shape[k] +
                (arguments[j].shape[k] == 1 ? 0 : place[arguments[j].axes[k]]);
      product *= static_cast<double>(data[j][static_cast<std::size_t>(index)]);
    }
    std::int64_t index = 0;
    for (const std::string& axis : output) index = index * extents.at(axis) + place[axis];
    result[static_cast<std::size_t>(index)] += product;
  }
  return result;
}

/// `narrow`: the operand whose leading axis is 1.
void check_equation(const std::string& equation, const std::vector<Axes>& operands,
                    const Axes& output, int narrow = -1) {
  CAPTURE(equation);
  for (const bool fixed : {false, true}) {
    OnnxFile file;
    std::vector<Argument> arguments;
    std::vector<std::vector<float>> data;
    NamedTensors inputs;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Argument argument{operands[i], {}};
      std::size_t count = 1;
      for (const std::string& axis : operands[i]) argument.shape.push_back(extents.at(axis));
      if (narrow == static_cast<int>(i)) argument.shape.front() = 1;
      for (const std::int64_t dim : argument.shape) count *= static_cast<std::size_t>(dim);
      const std::string name = "x" + std::to_string(i);
      file.input(name, {});
      auto& shape = *file.model.mutable_graph()
                         ->mutable_input(static_cast<int>(i))
                         ->mutable_type()
                         ->mutable_tensor_type()
                         ->mutable_shape();
      for (const std::int64_t dim : argument.shape) {
        auto& each = *shape.add_dim();
        if (fixed || dim == 1) each.set_dim_value(dim);
      }
      data.push_back(random_floats(count));
      arguments.push_back(std::move(argument));
    }
    file.output("y");
    onnx::NodeProto& node = file.node("Einsum", {}, {"y"});
    for (std::size_t i = 0; i < operands.size(); ++i) {
      node.add_input("x" + std::to_string(i));
      inputs.emplace_back("x" + std::to_string(i),
                          Tensor::view(data[i].data(), arguments[i].shape));
    }
    set_word(node, "equation", equation);
    const Result result = run_all(file, inputs).front();
    Shape expected;
    for (const std::string& axis : output) expected.push_back(extents.at(axis));
    CHECK(result.shape == expected);
    check_close(result.values, summed(arguments, data, output), 2e-5);
  }
}

}  // namespace

TEST_CASE("an imported einsum is a sum over letters") {
  check_equation("ab->ba", {{"a", "b"}}, {"b", "a"});
  check_equation("abc->b", {{"a", "b", "c"}}, {"b"});
  check_equation("ab,bc->ac", {{"a", "b"}, {"b", "c"}}, {"a", "c"});
  check_equation("ab,bc->ca", {{"a", "b"}, {"b", "c"}}, {"c", "a"});
  check_equation(" a b , c b ", {{"a", "b"}, {"c", "b"}}, {"a", "c"});
  check_equation("dabc,dcab->dba", {{"d", "a", "b", "c"}, {"d", "c", "a", "b"}}, {"d", "b", "a"});
  check_equation("ab,cd->acbd", {{"a", "b"}, {"c", "d"}}, {"a", "c", "b", "d"});
  check_equation("ab,ab->", {{"a", "b"}, {"a", "b"}}, {});
  check_equation("ab,bc,cd,d->a", {{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d"}}, {"a"});
  check_equation("abc,bd,ae->cde", {{"a", "b", "c"}, {"b", "d"}, {"a", "e"}}, {"c", "d", "e"});
}

TEST_CASE("a letter that one operand of an einsum has twice is its diagonal") {
  check_equation("aba->ab", {{"a", "b", "a"}}, {"a", "b"});
  check_equation("aa", {{"a", "a"}}, {});
  check_equation("abab,ac->bc", {{"a", "b", "a", "b"}, {"a", "c"}}, {"b", "c"});
  check_equation("aaa->a", {{"a", "a", "a"}}, {"a"});
}

TEST_CASE("an ellipsis of an einsum stands for the axes without a letter, and broadcasts") {
  check_equation("...ab->...ba", {{"1", "0", "a", "b"}}, {"1", "0", "b", "a"});
  check_equation("...ab,...bc->...ac", {{"1", "0", "a", "b"}, {"0", "b", "c"}},
                 {"1", "0", "a", "c"});
  check_equation("a...,b...", {{"a", "1", "0"}, {"b", "0"}}, {"1", "0", "a", "b"});
  check_equation("...ab,...b->...a", {{"0", "a", "b"}, {"0", "b"}}, {"0", "a"}, 0);
  check_equation("b...->...", {{"b", "0"}}, {"0"});
}

TEST_CASE("an equation that does not fit its operands is refused") {
  for (const std::string equation : {"ab,bc", "abc", "ab->ac", "ab->aa", "a?"}) {
    CAPTURE(equation);
    OnnxFile file;
    file.input("x", {2, 3}).output("y");
    set_word(file.node("Einsum", {"x"}, {"y"}), "equation", equation);
    std::vector<float> x = random_floats(6);
    CHECK_THROWS_AS(run_all(file, {{"x", Tensor::view(x.data(), {2, 3})}}), Error);
  }
}
