#pragma once
// Functions of the host: operators over whole tensors, in plain C++.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dyn/tensor.hpp"
#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"

namespace dyn::host {

/// A dense row-major tensor in memory that somebody else owns.
struct Array {
  DType dtype = DType::f32;
  Shape dims;
  void* data = nullptr;

  std::int64_t size() const { return element_count(dims); }
  template <class T>
  std::span<T> elements() const {
    return {static_cast<T*>(data), static_cast<std::size_t>(size())};
  }
  /// The one element of an integer scalar, or the first.
  std::int64_t integer() const;
  double number() const;
};

/// One run of a node.
struct Call {
  const graph::Node& node;
  std::vector<Array> inputs;
  std::vector<Array> outputs;
  std::shared_ptr<const void> kept;  ///< what the operator's Count or Prepare has made

  /// An integer attribute that counts axes of the first input, from the front.
  std::size_t axis(std::string_view name) const;
};

enum class Outcome : std::uint8_t {
  Ok,
  IndexOutOfRange,  ///< an index, or a size, that the inputs do not allow
};

/// Fills the outputs, which have their sizes and are never f16 or bf16, but for operators of the
/// program. May throw std::bad_alloc, and nothing else; operators of the program throw dyn::Error.
using Function = Outcome (*)(const Call&);

/// The result of an operator's Count, for an operator that defines dims, from the inputs alone: the
/// dims' values in the order of defined_symbols().
struct Counted {
  Outcome outcome = Outcome::Ok;
  std::vector<std::int64_t> dims;
  std::shared_ptr<const void> kept;  ///< becomes Call::kept
};
using Count = Counted (*)(const Call&);

/// Makes Call::kept of all runs of a node, once, from inputs that are weights; nullptr: they are
/// not as the operator asks, which is an Outcome::IndexOutOfRange. May throw std::bad_alloc, and
/// nothing else.
using Prepare = std::shared_ptr<const void> (*)(const Call&);

/// The time of one thread, in seconds, roughly; arrays have no memory then.
using Seconds = double (*)(const Call&);

struct Operator {
  graph::OpId op;
  Function function;
  Count count = nullptr;
  Prepare prepare = nullptr;
  /// For an operator that computes each row of its outputs, along their first axes, from that row
  /// of its first input: several threads may share its rows. nullptr for others.
  Seconds row_seconds = nullptr;
};

/// Operator::function and Operator::count, also where tensors are f16 or bf16: computed in f32,
/// results rounded. Operators of the program get the codes of 16 bits.
Outcome run(const Operator& of_host, const Call& call);
Counted count(const Operator& of_host, const Call& call);

/// nullptr where the host has no such operator.
const Operator* find_operator(graph::OpId op);

std::span<const Operator> order_operators();
std::span<const Operator> scatter_operators();
std::span<const Operator> choice_operators();
std::span<const Operator> recurrence_operators();
std::span<const Operator> linear_attention_operators();
std::span<const Operator> counting_operators();
std::span<const Operator> tree_operators();
std::span<const Operator> couple_operators();
std::span<const Operator> custom_operators();

/// The extents before an axis, of the axis, and after it: element (o, i, k) lies at (o * extent +
/// i) * inner + k.
struct AlongAxis {
  AlongAxis(const Shape& dims, std::size_t axis);
  std::int64_t outer = 1, extent = 1, inner = 1;
};

/// Calls visit with a value of the dtype's type in memory; f16 and bf16 are 16 bits without
/// arithmetic.
template <class Visit>
void visit_bits(DType dtype, const Visit& visit) {
  switch (size_of(dtype)) {
    case 1: return visit(std::uint8_t{});
    case 2: return visit(std::uint16_t{});
    case 4: return visit(std::uint32_t{});
    default: return visit(std::uint64_t{});
  }
}

/// Calls visit with a value of the dtype's type, for arithmetic and order; f16 and bf16 have
/// neither.
template <class Visit>
void visit_numbers(DType dtype, const Visit& visit) {
  graph::with_element_type(dtype, visit);
}

}  // namespace dyn::host
