#pragma once
// TSCompiler's tuner (section 5.1): Thompson samples of local Gaussian processes in several trust
// regions, which are the levers of a bandit.

#include "src/tune/search.hpp"
#include "src/tune/trust_region.hpp"

namespace dyn::tune {

struct BayesSettings {
  std::size_t regions = 3;
  std::size_t first_points = 6;  ///< of a new region, its center included
  std::size_t batch = 4;         ///< points that are asked for at once
  std::size_t candidates = 64;   ///< of each region, for one draw
  double preference = 0.25;      ///< what an unmet preference costs, in standard deviations of the
                                 ///< logarithms of a region's values
  TrustRegionSettings region = {};
};

/// The first points are the space's seeds. Regions begin around the best of them that are not near
/// each other, later ones around points that were drawn at random. Each point of a batch is the
/// least over all regions of one draw of each region's process, so regions that promise more get
/// more of them.
class BayesSearch final : public Search {
 public:
  BayesSearch(const Space& space, std::uint64_t seed, const BayesSettings& settings = {});
  std::vector<Point> ask() override;
  void tell(std::span<const double> values) override;

 private:
  static constexpr std::size_t no_region = static_cast<std::size_t>(-1);
  struct Asked {
    Point point;
    std::size_t region;
  };
  struct Known {
    Point point;
    double logarithm;
  };
  /// Begins regions that have not begun, or are over, as long as there are points for them.
  void begin_regions();
  /// Around the best known start that is not near another region's center, else a random point.
  /// False where no point is left.
  bool begin(std::size_t region);
  std::optional<Known> next_start(std::size_t region);
  void ask_by_draws();

  const Space& space_;
  BayesSettings settings_;
  Untried untried_;
  Random random_;
  std::vector<Point> seeds_;
  bool has_asked_seeds_ = false;
  std::vector<std::unique_ptr<TrustRegion>> regions_;
  std::vector<Known> starts_;  ///< points of no region, best last: centers of regions to come
  std::vector<Asked> asked_;
};

}  // namespace dyn::tune
