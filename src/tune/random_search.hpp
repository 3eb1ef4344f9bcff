#pragma once
// Points drawn uniformly from the legal ones, each once: what other methods are compared with.

#include "src/tune/search.hpp"

namespace dyn::tune {

class RandomSearch final : public Search {
 public:
  RandomSearch(const Space& space, std::uint64_t seed) : untried_(space), random_(seed) {}
  std::vector<Point> ask() override;
  void tell(std::span<const double>) override {}

 private:
  Untried untried_;
  Random random_;
};

}  // namespace dyn::tune
