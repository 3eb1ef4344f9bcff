// Public sizes over the dims of a model's table.

#include "dyn/dim.hpp"

#include <utility>

#include "dyn/error.hpp"
#include "graph/dims/dim.hpp"

namespace dyn {
namespace {

using Combine = graph::Dim (graph::DimTable::*)(graph::Dim, graph::Dim);

/// Constants belong to no table: two of them meet in one of their own.
Dim combined(Combine combine, const Dim& a, const Dim& b) {
  std::shared_ptr<graph::DimTable> table = a.table() ? a.table() : b.table();
  if (!table) table = std::make_shared<graph::DimTable>();
  const graph::Dim result = (table.get()->*combine)(a.in(table), b.in(table));
  return result.constant() ? Dim(*result.constant()) : Dim(std::move(table), result);
}

Dim divided(Combine combine, const Dim& a, const Dim& b) {
  if (b.constant().value_or(1) <= 0)
    throw Error(ErrorKind::user, "the divisor " + b.to_string() + " of a dim is not positive");
  return combined(combine, a, b);
}

}  // namespace

Dim::Dim(std::shared_ptr<graph::DimTable> table, graph::Dim dim)
    : table_(std::move(table)), node_(dim.node()) {
  if (const auto value = dim.constant()) *this = Dim(*value);
}

graph::Dim Dim::in(const std::shared_ptr<graph::DimTable>& table) const {
  if (node_ == nullptr) return table->constant(value_);
  if (table_ != table)
    throw Error(ErrorKind::user,
                "the dim " + to_string() + " belongs to another model than what it is used with");
  return table->at(node_->id);
}

std::optional<std::int64_t> Dim::constant() const {
  return node_ == nullptr ? std::optional(value_) : std::nullopt;
}
std::int64_t Dim::low() const { return node_ == nullptr ? value_ : graph::bounds(in(table_)).low; }
std::int64_t Dim::high() const {
  return node_ == nullptr ? value_ : graph::bounds(in(table_)).high;
}
std::string Dim::to_string() const {
  return node_ == nullptr ? std::to_string(value_) : graph::to_string(in(table_));
}
bool Dim::operator==(const Dim& other) const {
  return node_ == other.node_ && value_ == other.value_;
}

Dim operator+(const Dim& a, const Dim& b) { return combined(&graph::DimTable::add, a, b); }
Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }
Dim operator*(const Dim& a, const Dim& b) { return combined(&graph::DimTable::multiply, a, b); }
Dim floordiv(const Dim& a, const Dim& b) { return divided(&graph::DimTable::floordiv, a, b); }
Dim mod(const Dim& a, const Dim& b) { return divided(&graph::DimTable::mod, a, b); }
Dim min(const Dim& a, const Dim& b) { return combined(&graph::DimTable::minimum, a, b); }
Dim max(const Dim& a, const Dim& b) { return combined(&graph::DimTable::maximum, a, b); }

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (const Dim& dim : dims) text += (text.size() > 1 ? ", " : "") + dim.to_string();
  return text + "]";
}

}  // namespace dyn
