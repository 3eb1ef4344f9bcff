// The terms of a prediction, for people.

#include <fmt/format.h>

#include "src/choice/cost/cost.hpp"

namespace dyn::choice {

std::string to_string(const CostBreakdown& breakdown) {
  std::string text = fmt::format("    registers: {:.3g} us\n", breakdown.register_tile * 1e6);
  for (std::size_t i = 0; i < breakdown.layers.size(); ++i) {
    const LayerTerms& terms = breakdown.layers[i];
    text += fmt::format(
        "    {}: F_parallel = ceil({:g} / {:g}), n_ts = {:g}, n_tr = {:g}, T_load = {:.3g} us, "
        "T_store = {:.3g} us, fixed = {:.3g} us, "
        "cost = {:.4g} us\n",
        terms.name, terms.parallel_trips, terms.units, terms.spatial_trips, terms.reduction_trips,
        terms.load * 1e6, terms.store * 1e6, terms.fixed * 1e6, breakdown.costs[i] * 1e6);
  }
  return text;
}

}  // namespace dyn::choice
