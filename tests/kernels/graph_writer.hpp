#pragma once
// Writes random graphs: chains of operators over values with symbolic shapes.

#include <optional>
#include <string>
#include <vector>

#include "tests/kernels/random.hpp"

namespace dyn::testing {

/// One dim as text, and the writer's knowledge of its size.
struct WrittenDim {
  std::string text;
  std::int64_t largest;  ///< for the sizes that random_sizes() gives
  std::optional<std::int64_t> constant;
};

struct WrittenValue {
  std::string name;
  std::vector<WrittenDim> dims;
};

/// The text of one graph and how to fill its inputs.
class GraphWriter {
 public:
  static constexpr std::int64_t largest_size = 21;
  static const std::vector<std::string>& symbols();

  explicit GraphWriter(Random& random);

  /// Adds up to `count` operators, each on a value chosen among the latest.
  void write(int count);
  std::string text() const;
  const std::vector<Fill>& fills() const { return fills_; }

 private:
  using Dims = std::vector<WrittenDim>;

  void step();
  void unary(const WrittenValue& x);
  void binary(const WrittenValue& x);
  void select(const WrittenValue& x);
  void reduce(const WrittenValue& x);
  void normalize(const WrittenValue& x);
  void matmul(const WrittenValue& x);
  void transpose(const WrittenValue& x);
  void merge(const WrittenValue& x);
  void slice(const WrittenValue& x);
  void concat(const WrittenValue& x);
  void pad(const WrittenValue& x);
  void expand(const WrittenValue& x);
  void gather(const WrittenValue& x);

  WrittenDim random_dim();
  std::string input(const std::string& dtype, const Dims& dims, Fill how = normal_fill);
  /// Some dims become 1, some leading ones go.
  Dims broadcastable(const Dims& dims);
  void define(const std::string& expression, Dims dims);
  std::size_t random_axis(const Dims& dims);

  Random& random_;
  std::vector<WrittenValue> values_;
  std::string parameters_, statements_;
  std::vector<Fill> fills_;
  int inputs_ = 0;
};

/// "[A, 3, B]"
std::string shape_text(const std::vector<WrittenDim>& dims);

}  // namespace dyn::testing
