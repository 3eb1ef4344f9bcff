#pragma once
// The oracle: every operator as plain loops, by definition, on graph::Module as it was parsed (or
// decomposed).

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dyn/tensor.hpp"
#include "graph/ir/module.hpp"

namespace dyn::reference {

/// A dense row-major array. Float dtypes keep their elements in `floats`, all others in `integers`
/// (u64 as the same bits, codes as such); the other vector is empty.
struct Array {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::vector<double> floats;
  std::vector<std::int64_t> integers;

  std::int64_t size() const noexcept {
    return static_cast<std::int64_t>(is_float(dtype) ? floats.size() : integers.size());
  }
};

/// f8e4m3fn to f4e2m1 by definition: a code as a number, and the code that is nearest to a number,
/// the even one of two; what is beyond the greatest number becomes infinite, NaN where there is no
/// infinity, the greatest where there is neither.
double number_of_code(DType dtype, std::int64_t code);
std::int64_t nearest_code(DType dtype, double value);

/// A zeroed array.
Array make_array(DType dtype, std::vector<std::int64_t> dims);

/// A number as a float dtype holds it: to nearest, ties to even.
double rounded_to(DType dtype, double value);

Array from_tensor(const Tensor& tensor);
Tensor to_tensor(const Array& array);

/// The dtype to which the f32 result of each operator is rounded; inside an operator everything is
/// double. f16 and bf16 results are always rounded to their own dtype.
enum class Precision { f32, f64 };

/// The value of every symbol, from the dims of the inputs in the module's order. A symbol that no
/// input shows gets its lower bound. Throws Error(user) where a rank or size does not fit.
std::vector<std::int64_t> bind_symbols(const graph::Module& module,
                                       std::span<const std::vector<std::int64_t>> input_dims);

/// The outputs of `module`. `weight` is asked once for each weight that a node or output uses.
/// `states`, in the order of module.states, are read and updated by the run. Throws Error(user)
/// where an index is out of range, Error(internal) where an operator's result has not the shape
/// that was inferred. `before` is called before each node, and may throw: no state is changed then.
std::vector<Array> run(const graph::Module& module, std::span<const std::int64_t> symbols,
                       const std::vector<Array>& inputs,
                       const std::function<Array(graph::ValueId)>& weight, Precision precision,
                       std::span<Array> states = {},
                       const std::function<void(const graph::Node&)>& before = {});

}  // namespace dyn::reference
