#include "src/import/onnx/sizes/shared_names.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>

#include <fmt/format.h>

namespace dyn::onnx {
namespace {

std::int64_t size_at(DimPlace place, std::span<const Shape* const> shapes) {
  return (*shapes[place.input])[place.axis];
}

}  // namespace

std::string to_text(const OwnSize& size) {
  return fmt::format("{} {} {}", size.place.input, size.place.axis, size.number);
}

std::map<DimPlace, int> numbers_of(const Splits& splits) {
  std::map<DimPlace, int> numbers;
  for (const std::string& split : splits) {
    std::istringstream words(split);
    OwnSize size;
    words >> size.place.input >> size.place.axis >> size.number;
    numbers.emplace(size.place, size.number);
  }
  return numbers;
}

void SharedNames::keep_shared() {
  std::erase_if(places_, [](const auto& named) { return named.second.size() < 2; });
}

Splits SharedNames::all() const {
  Splits splits;
  for (const auto& [name, places] : places_)
    for (std::size_t i = 1; i < places.size(); ++i)
      splits.insert(to_text({places[i], static_cast<int>(i)}));
  return splits;
}

bool SharedNames::fit(const Places& places, std::span<const Shape* const> shapes) {
  return std::ranges::all_of(places, [&](DimPlace place) {
    return place.input < shapes.size() && place.axis < shapes[place.input]->size();
  });
}

Splits SharedNames::at(std::span<const Shape* const> shapes) const {
  Splits splits;
  for (const auto& [name, places] : places_) {
    if (!fit(places, shapes)) return {};
    const std::int64_t first = size_at(places.front(), shapes);
    if (std::ranges::all_of(places,
                            [&](DimPlace place) { return size_at(place, shapes) == first; }))
      continue;
    std::vector<std::int64_t> kinds;  // the first keeps the name
    for (const DimPlace place : places) {
      const std::int64_t size = size_at(place, shapes);
      if (size == 1) {
        splits.insert(to_text({place, 0}));
        continue;
      }
      const auto kind = std::ranges::find(kinds, size);
      const auto number = static_cast<int>(kind - kinds.begin());
      if (kind == kinds.end()) kinds.push_back(size);
      if (number > 0) splits.insert(to_text({place, number}));
    }
  }
  return splits;
}

}  // namespace dyn::onnx
