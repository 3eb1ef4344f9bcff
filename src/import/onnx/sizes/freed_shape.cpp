#include "src/import/onnx/sizes/freed_shape.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/sizes/factor_split.hpp"

namespace dyn::onnx {

using graph::Dim;

namespace {

using Kind = TargetDim::Kind;

[[noreturn]] void refuse(const std::string& reason) { throw Error(ErrorKind::unsupported, reason); }

struct SizedDim {
  Dim dim;
  std::int64_t size = 1;
};

struct SizedTarget {
  TargetDim asked;
  std::int64_t size = 1;
  Dim found;  ///< the dim that stands there; the constant -1: the dims that the others leave
};

bool is_open(Dim dim) { return !dim.constant(); }
bool is_rest(Dim dim) { return dim.constant() == -1; }

class Matcher {
 public:
  Matcher(std::span<const Dim> input, std::span<const TargetDim> target, const FileSizes& sizes)
      : sizes_(sizes), table_(target.front().dim.table()) {
    for (const Dim dim : input) input_.push_back({dim, sizes.of(dim)});
    for (const TargetDim& dim : target)
      target_.push_back({dim, dim.kind == Kind::Rest ? 1 : sizes.of(dim.dim), {}});
    size_rest();
  }

  std::vector<Dim> match() {
    while (true) {
      match_ones();
      if (is_end()) break;
      match_run();
    }
    std::vector<Dim> shape;
    for (const SizedTarget& each : target_) shape.push_back(each.found);
    return shape;
  }

 private:
  /// Finds the size of -1 in the file; afterwards both sides have the same number of elements
  /// there, and at least one.
  void size_rest() {
    std::int64_t elements = 1, asked = 1;
    bool fits = true;
    for (const SizedDim& dim : input_)
      fits = fits && dim.size > 0 && !__builtin_mul_overflow(elements, dim.size, &elements);
    for (const SizedTarget& dim : target_)
      fits = fits && dim.size > 0 && !__builtin_mul_overflow(asked, dim.size, &asked);
    if (!fits) refuse("with the file's sizes it has no elements, or more than 64 bits count");
    const auto rest = std::ranges::find(target_, Kind::Rest,
                                        [](const SizedTarget& dim) { return dim.asked.kind; });
    if (rest != target_.end() && elements % asked == 0) {
      rest->size = elements / asked;
    } else if (elements != asked) {
      refuse(fmt::format("with the file's sizes its input has {} elements, and the shape {}",
                         elements, asked));
    }
  }

  bool is_end() const { return next_ == input_.size() && place_ == target_.size(); }

  Dim product(const std::vector<Dim>& dims) const {
    Dim product = table_.constant(1);
    for (const Dim dim : dims) product = product * dim;
    return product;
  }

  std::string name(const std::vector<Dim>& dims) const {
    const std::string names = sizes_.names_in(dims);
    return names.empty() ? graph::to_string(product(dims)) : names;
  }

  /// Dims of 1 between two runs, or around them.
  void match_ones() {
    std::vector<Dim> ones;
    std::vector<SizedTarget*> places;
    for (; next_ < input_.size() && input_[next_].size == 1; ++next_)
      ones.push_back(input_[next_].dim);
    for (; place_ < target_.size() && target_[place_].size == 1; ++place_)
      places.push_back(&target_[place_]);
    take_known(ones, places);
    if (places.size() > ones.size() && next_ < input_.size())
      take_from_next(ones, places.size() - ones.size());
    if (ones.size() != places.size()) ones = fitted(ones, places);
    for (std::size_t i = 0; i < places.size(); ++i) places[i]->found = ones[i];
  }

  /// Computed places keep their dims; each of them takes one of the input's dims.
  static void take_known(std::vector<Dim>& ones, std::vector<SizedTarget*>& places) {
    for (SizedTarget* place : places) {
      if (place->asked.kind != Kind::Known) continue;
      place->found = place->asked.dim;
      if (const auto same = std::ranges::find(ones, place->found); same != ones.end())
        ones.erase(same);
    }
    std::erase_if(places,
                  [](const SizedTarget* place) { return place->asked.kind == Kind::Known; });
  }

  /// A batch of 1 that was merged with the dim after it.
  void take_from_next(std::vector<Dim>& ones, std::size_t missing) {
    Factors factors = factors_of(input_[next_].dim, sizes_);
    const auto is_one = [](const Factors::Atom& atom) { return atom.size == 1; };
    if (static_cast<std::size_t>(std::ranges::count_if(factors.atoms, is_one)) != missing) return;
    for (const Factors::Atom& atom : factors.atoms) {
      if (is_one(atom)) ones.push_back(atom.dim);
    }
    std::erase_if(factors.atoms, is_one);
    input_[next_].dim = factors.product(table_);
  }

  /// Dims of 1: as many as there are places; none where dims beside them take all.
  std::vector<Dim> fitted(const std::vector<Dim>& ones, const std::vector<SizedTarget*>& places) {
    std::vector<Dim> open, fitted(places.size(), table_.constant(1));
    std::ranges::copy_if(ones, std::back_inserter(open), is_open);
    const bool open_first =
        std::none_of(std::ranges::find_if_not(ones, is_open), ones.end(), is_open);
    const auto rest = std::ranges::find(places, Kind::Rest,
                                        [](const SizedTarget* place) { return place->asked.kind; });
    if (open.size() == places.size() || open.empty() ||
        (open.size() < places.size() && !has_run_ && open_first)) {
      std::ranges::copy(open, fitted.begin());
    } else if (places.empty()) {
      merge(open);
    } else if (rest != places.end()) {
      fitted[static_cast<std::size_t>(rest - places.begin())] = product(open);
    } else if (places.size() == 1 && is_end()) {
      fitted[0] = product(open);
    } else if (open.size() > places.size()) {
      refuse(fmt::format("of {}, which are 1 in the file, it keeps {}; which of them is not known",
                         name(open), places.size()));
    } else {
      refuse(fmt::format("{} is 1 in the file, and the shape has {} dims of 1 where it could stand",
                         name(open), places.size()));
    }
    return fitted;
  }

  /// Dims of 1 in the file that have no place: they are flattened into the dim before them at the
  /// end, or into -1.
  void merge(const std::vector<Dim>& ones) {
    SizedTarget* before = has_run_ ? &target_[place_ - 1] : nullptr;
    if (before != nullptr && before->asked.kind != Kind::Known &&
        (is_end() || before->asked.kind == Kind::Rest)) {
      if (!is_rest(before->found)) before->found = before->found * product(ones);
    } else if (place_ < target_.size() && target_[place_].asked.kind == Kind::Rest) {
      input_[next_].dim = input_[next_].dim * product(ones);
    } else {
      refuse(fmt::format("{} is 1 in the file, and the shape has no dim for it", name(ones)));
    }
  }

  void match_run() {
    has_run_ = true;
    const std::size_t first_place = place_;
    std::vector<Dim> dims{input_[next_].dim};
    std::int64_t have = input_[next_++].size, asked = target_[place_++].size;
    while (have != asked) {
      if (have < asked) {
        dims.push_back(input_[next_].dim);
        have *= input_[next_++].size;
      } else {
        asked *= target_[place_++].size;
      }
    }
    fill_run(dims, std::span(target_).subspan(first_place, place_ - first_place));
  }

  void fill_run(const std::vector<Dim>& dims, std::span<SizedTarget> places) {
    for (SizedTarget& place : places)
      place.found = place.asked.kind == Kind::Known ? place.asked.dim : table_.constant(place.size);
    if (std::ranges::none_of(dims, is_open)) return;
    if (places.size() == 1) {
      if (places[0].asked.kind != Kind::Known) places[0].found = product(dims);
      return;
    }
    std::vector<Factors> factors;
    for (const Dim dim : dims) factors.push_back(factors_of(dim, sizes_));
    std::vector<Place> asked;
    for (const SizedTarget& place : places)
      asked.push_back({place.size, place.asked.kind == Kind::Known ? std::optional(place.asked.dim)
                                                                   : std::nullopt});
    const auto rest = std::ranges::find(places, Kind::Rest,
                                        [](const SizedTarget& place) { return place.asked.kind; });
    if (const auto split = split_factors(std::move(factors), asked, table_)) {
      for (std::size_t i = 0; i < places.size(); ++i) places[i].found = (*split)[i];
    } else if (rest != places.end()) {
      rest->found = table_.constant(-1);
    } else if (std::ranges::none_of(places, [](const SizedTarget& place) {
                 return place.asked.kind == Kind::Known;
               })) {
      refuse_split(dims, places);
    }
  }

  [[noreturn]] void refuse_split(const std::vector<Dim>& dims,
                                 std::span<const SizedTarget> places) const {
    std::string sizes;
    for (const SizedTarget& place : places)
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", place.size);
    refuse(fmt::format(
        "dims {} of it are {}, which is {} in the file: which of them changes with {} is not known",
        sizes, graph::to_string(product(dims)), sizes_.of(product(dims)), name(dims)));
  }

  const FileSizes& sizes_;
  graph::DimTable& table_;
  std::vector<SizedDim> input_;
  std::vector<SizedTarget> target_;
  std::size_t next_ = 0, place_ = 0;  ///< the first of input and target that have not been matched
  bool has_run_ = false;
};

}  // namespace

std::vector<Dim> freed_shape(std::span<const Dim> input, std::span<const TargetDim> target,
                             const FileSizes& sizes) {
  if (target.empty()) refuse("a scalar has no place for dims that are freed");
  if (std::ranges::all_of(input, [&](Dim dim) { return sizes.knows(dim); }) ||
      std::ranges::any_of(target, [](const TargetDim& dim) { return dim.kind != Kind::Number; }))
    return Matcher(input, target, sizes).match();
  std::vector<Dim> shape;
  for (const TargetDim& dim : target) shape.push_back(dim.dim);
  return shape;
}

}  // namespace dyn::onnx
