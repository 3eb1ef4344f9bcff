#pragma once
// Inputs of lstm, gru and rnn by number, those that say nothing, and the functions of cells.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// gru and rnn have no cells and no peepholes. Behind the last one may stand the scales of r
/// (scales_input).
enum RecurrenceInput : std::size_t {
  recurrence_gates,
  recurrence_r,
  recurrence_bias,
  recurrence_lengths,
  recurrence_h,
  recurrence_c,
  recurrence_peepholes
};

/// The input that holds the scales of recurrence weights in i8; nothing where they are floats.
std::optional<std::size_t> scales_input(const Node& node);

/// True for lengths that are the number of all steps in every row, and for other inputs that are 0
/// everywhere: nobody needs to read them. Sees literals and ranges behind views, no weights.
bool is_plain_input(const Module& module, const Node& node, std::size_t input);

/// A cell does this to the sum of a gate, x.
enum class CellFunction : std::uint8_t {
  Sigmoid,
  Tanh,
  Relu,
  Affine,           ///< alpha * x + beta
  LeakyRelu,        ///< alpha * x below 0, else x
  ThresholdedRelu,  ///< x from alpha on, else 0
  ScaledTanh,       ///< alpha * tanh(beta * x)
  HardSigmoid,      ///< alpha * x + beta, but within 0 and 1
  Elu,              ///< alpha * (e^x - 1) below 0, else x
  Softsign,         ///< x / (1 + |x|)
  Softplus          ///< log(1 + e^x)
};

struct CellFunctionInfo {
  CellFunction function;
  std::string_view name;  ///< in the text
  bool takes_alpha, takes_beta;
};
std::span<const CellFunctionInfo> cell_functions();

struct Activation {
  CellFunction function = CellFunction::Tanh;
  double alpha = 1, beta = 0;  ///< 1 and 0 for a function that takes none
};
/// That of the attribute "f", "g" or "h" of an lstm, gru or rnn.
Activation activation_of(const Node& node, std::string_view name);

}  // namespace dyn::graph
