#pragma once

#include <functional>
#include <map>

#include "graph/fusion/group.hpp"

namespace dyn::graph {

/// Which products, and how.
struct QuantizedProducts {
  std::function<bool(const Node&)> chosen = [](const Node&) { return true; };
  /// The greatest magnitudes that left sides are to have, beyond which they are cut off; others are
  /// quantised by what they hold.
  std::map<ValueId, double> reaches = {};
};

/// Makes products of f32 by weights, whose depth is known and consists of whole groups, products of
/// bytes. The left side is quantised when it runs: each row of a matrix by its greatest magnitude,
/// images of a convolution each by its own. Each column of the weights is quantised at load, by
/// its greatest magnitude as well (WeightSource::Kind::Codes). Both are symmetric around 0. Sums
/// are exact, and become f32 by both scales. Weights that the target multiplies as codes of 4 bits
/// (multiplies_codes) stay f32 here. Left sides are what the target's are
/// (DecomposeOptions::integer_factor), u8 or i16. Products whose sums an i32 may not hold stay.
/// Runs when everything else is done to a module but its fusion, or on a module as it was parsed.
void quantize_products(Module& module, const DecomposeOptions& target,
                       const QuantizedProducts& products = {});

}  // namespace dyn::graph
