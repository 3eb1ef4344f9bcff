#pragma once
// Runs one text on the CPU target and on the reference in float64, and compares.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "graph/ir/module.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/reference/reference.hpp"
#include "tests/kernels/random.hpp"

namespace dyn::testing {

/// Options of all tests here: two threads, an instruction set ("": the best), and a cache directory
/// that goes away with the process.
Options test_options(const std::string& isa = {});
/// The same for the reference, which has the same random weights.
Options on_reference(Options options);

/// Calls `body` in each of so many rounds for every instruction set that this CPU has; failures
/// name it.
void for_each_isa(int rounds, const std::function<void(const codegen::Isa& isa)>& body);

/// |actual - expected| <= factor * eps * scale, where eps is that of the output's dtype. Integers
/// and bools must be equal.
struct Tolerance {
  enum class Scale {
    Element,   ///< |expected|
    Absolute,  ///< the reference's result for the absolute values of all inputs: |A|·|B| of a
               ///< matmul
    Largest,   ///< the largest |expected| of the output
    Values,    ///< Largest; at least a 32nd of the largest |value| of the graph, since terms that
               ///< cancel leave its rounding
    Unit       ///< 1
  } scale = Scale::Element;
  double factor = 4;
  const char* times = "";  ///< a dim by which the factor is multiplied, such as "K"; empty: none
};

inline const Tolerance exact{Tolerance::Scale::Element, 0};

using Sizes = std::map<std::string, std::int64_t>;

/// Fresh inputs for the dims `sizes`; fills[i] tells how input i is filled (normal where there is
/// none).
std::vector<Tensor> make_inputs(const graph::Module& module, const Sizes& sizes,
                                const std::vector<Fill>& fills, Random& random);

/// A text loaded twice: for the target and for the reference.
class Subject {
 public:
  explicit Subject(const std::string& text, const std::string& isa = {})
      : Subject(text, test_options(isa)) {}
  /// Loads for another device than the CPU, or with other options.
  Subject(const std::string& text, const Options& options);

  const Graph& graph() const { return graph_; }
  const graph::Module& module() const { return module_; }

  std::vector<Tensor> make_inputs(const Sizes& sizes, const std::vector<Fill>& fills,
                                  Random& random) const {
    return testing::make_inputs(module_, sizes, fills, random);
  }

  /// The reference's outputs, in float64.
  std::vector<reference::Array> expect(const std::vector<Tensor>& inputs) const {
    return expect(module_, inputs);
  }

  /// Runs with caller-owned outputs between guard bytes, not aligned to more than their dtype.
  /// Returns what is wrong; empty where nothing is.
  std::string check(const std::vector<Tensor>& inputs, const Tolerance& tolerance,
                    const Sizes& sizes) const;

 private:
  std::vector<std::int64_t> symbols_of(const std::vector<Tensor>& inputs) const;
  std::vector<reference::Array> expect(const graph::Module& module,
                                       const std::vector<Tensor>& inputs) const;
  /// The values that give the scale, beside the expected outputs: those of absolute inputs, or
  /// every value of the graph.
  std::vector<reference::Array> others_of(Tolerance::Scale scale,
                                          const std::vector<Tensor>& inputs) const;

  std::string text_;
  graph::Module module_;
  Graph graph_;
};

/// Where and how `actual` differs from `expected`, with scales[i] for element i; empty where it
/// does not.
std::string difference(const Tensor& actual, const reference::Array& expected, double factor,
                       const std::vector<double>& scales);

/// True where all elements have the same bits.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace dyn::testing
