#pragma once
// Dims of inputs that the file calls by one name, though their sizes may differ in a run.

#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"

namespace dyn::onnx {

/// A dim of an input, by their numbers.
struct DimPlace {
  std::size_t input = 0, axis = 0;
  auto operator<=>(const DimPlace&) const = default;
};

/// Dims that an import takes to be other than their names say, as texts of an OwnSize each.
using Splits = std::set<std::string>;

struct OwnSize {
  DimPlace place;
  /// 0: the size is 1. Else the dims with this number and one name are equal.
  int number = 0;
};
std::string to_text(const OwnSize& size);
/// The numbers by their places.
std::map<DimPlace, int> numbers_of(const Splits& splits);

/// The places of each name. Any number of threads may ask.
class SharedNames {
 public:
  void add(const std::string& name, DimPlace place) { places_[name].push_back(place); }
  /// Forgets names that stand in one place alone.
  void keep_shared();

  bool empty() const noexcept { return places_.empty(); }
  /// Every dim is one of its own.
  Splits all() const;

  /// None where dims of one name have one size in these shapes, or where the shapes do not fit: a
  /// run says why. Where sizes differ, dims stay together that have the same, the first size that
  /// is not 1 keeps the name, and sizes of 1 are constants, since such dims may be meant to
  /// broadcast. Allocates nothing where there are none.
  Splits at(std::span<const Shape* const> shapes) const;

 private:
  using Places = std::vector<DimPlace>;
  static bool fit(const Places& places, std::span<const Shape* const> shapes);
  std::map<std::string, Places> places_;
};

}  // namespace dyn::onnx
