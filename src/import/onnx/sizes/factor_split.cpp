#include "src/import/onnx/sizes/factor_split.hpp"

#include <algorithm>

#include "graph/dims/polynomial.hpp"

namespace dyn::onnx {

using graph::Dim;

namespace {

/// A dim with more factors than this is not factored.
constexpr std::size_t most_atoms = 8;

class Dealer {
 public:
  Dealer(std::span<const Place> places, graph::DimTable& table) : places_(places), table_(table) {}

  std::optional<std::vector<Dim>> deal(std::vector<Factors> dims) {
    fill(std::move(dims), 0, places_.empty() ? 1 : places_.front().size, table_.constant(1));
    return solutions_.size() == 1 ? std::optional(solutions_.front()) : std::nullopt;
  }

 private:
  /// The place after chosen_ needs `needed` more, and has `have`; dims before `first` are assigned.
  void fill(std::vector<Factors> dims, std::size_t first, std::int64_t needed, Dim have) {
    if (solutions_.size() > 1) return;
    if (needed == 1) return finish_place(std::move(dims), first, have);
    if (first == dims.size()) return;
    const Factors& next = dims[first];
    const std::int64_t size = next.size();
    if (needed >= size) {
      if (needed % size != 0) return;
      const Dim all = have * next.product(table_);
      return fill(std::move(dims), first + 1, needed / size, all);
    }
    if (size % needed == 0) take_part(dims, first, needed, have);
  }

  /// Every choice of factors that makes up what the place needs.
  void take_part(const std::vector<Factors>& dims, std::size_t first, std::int64_t needed,
                 Dim have) {
    const Factors& next = dims[first];
    if (next.atoms.size() > most_atoms) return;
    for (std::size_t choice = 0; choice < std::size_t{1} << next.atoms.size(); ++choice) {
      Factors taken, left;
      for (std::size_t i = 0; i < next.atoms.size(); ++i)
        ((choice >> i & 1) != 0 ? taken : left).atoms.push_back(next.atoms[i]);
      if (needed % taken.size() != 0) continue;
      taken.number = needed / taken.size();
      if (next.number % taken.number != 0) continue;
      left.number = next.number / taken.number;
      std::vector<Factors> rest = dims;
      rest[first] = left;
      finish_place(std::move(rest), first, have * taken.product(table_));
    }
  }

  void finish_place(std::vector<Factors> dims, std::size_t first, Dim have) {
    const std::size_t place = chosen_.size();
    if (places_[place].known && *places_[place].known != have) return;
    chosen_.push_back(have);
    if (chosen_.size() < places_.size()) {
      fill(std::move(dims), first, places_[place + 1].size, table_.constant(1));
    } else {
      // All remaining dims are 1.
      Dim last = have;
      for (std::size_t i = first; i < dims.size(); ++i) last = last * dims[i].product(table_);
      chosen_.back() = last;
      if (std::ranges::find(solutions_, chosen_) == solutions_.end()) solutions_.push_back(chosen_);
    }
    chosen_.pop_back();
  }

  std::span<const Place> places_;
  graph::DimTable& table_;
  std::vector<Dim> chosen_;
  std::vector<std::vector<Dim>> solutions_;
};

}  // namespace

std::int64_t Factors::size() const {
  std::int64_t size = number;
  for (const Atom& atom : atoms) size *= atom.size;
  return size;
}

Dim Factors::product(graph::DimTable& dims) const {
  Dim product = dims.constant(number);
  for (const Atom& atom : atoms) product = product * atom.dim;
  return product;
}

Factors factors_of(Dim dim, const FileSizes& sizes) {
  const graph::Polynomial sum = graph::to_polynomial(dim);
  Factors factors;
  const graph::Term common = graph::common_factor(sum);
  factors.number = common.coefficient;
  for (const Dim atom : common.atoms) factors.atoms.push_back({atom, sizes.of(atom)});
  if (sum.size() > 1) {
    const Dim rest = graph::from_polynomial(dim.table(), graph::divide_exactly(sum, common));
    factors.atoms.push_back({rest, sizes.of(rest)});
  }
  if (std::ranges::any_of(factors.atoms, [](const Factors::Atom& atom) { return atom.size < 1; }))
    return {1, {{dim, sizes.of(dim)}}};
  return factors;
}

std::optional<std::vector<Dim>> split_factors(std::vector<Factors> dims,
                                              std::span<const Place> places,
                                              graph::DimTable& table) {
  return Dealer(places, table).deal(std::move(dims));
}

}  // namespace dyn::onnx
