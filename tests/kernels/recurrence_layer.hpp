#pragma once
// Recurrent layers of random options, as text.

#include <string>

#include "tests/kernels/random.hpp"

namespace dyn::testing {

struct Activation {
  std::string name = "tanh";
  double alpha = 1, beta = 0;
};

/// A layer's options and sizes; the batch and the steps are dims of the graph.
struct Layer {
  std::string kind = "lstm", direction = "forward";
  Activation f{"sigmoid"}, g, h;
  double clip = 0;
  bool input_forget = false, linear = false;
  bool has_bias = true, has_lengths = true, has_h = true, has_c = true, has_peepholes = true;
  bool constant = true;       ///< the weights; else they are an input
  bool symbolic = false;      ///< the state's size is a dim; weights are an input
  bool side_by_side = false;  ///< the result is [S, B, D * H]
  bool quantised = false;     ///< the weights are i8 of a file, with scales as an input s
  std::string dtype = "f32";  ///< of the layer; inputs and results are cast
  std::int64_t hidden = 4;

  std::int64_t gates() const { return kind == "lstm" ? 4 : kind == "gru" ? 3 : 1; }
  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

Layer random_layer(Random& random);

/// A graph of f32 inputs x: [S, B, D * G * H], r, bias, h0, c0, p, s where the layer has them,
/// lengths, and none: f32[1], a zero; its results are y, last, cell of an lstm, and given: the
/// weights, where they are constant. Inputs that a layer does not have are literals, or the number
/// of steps.
std::string text_of(const Layer& layer);

}  // namespace dyn::testing
