#pragma once
// Steps from one point of a space to another.

#include "src/tune/space.hpp"

namespace dyn::tune {

/// Gives a parameter another value, where it has one: of an ordered one within `reach` of all its
/// steps (0 to 1) and at least one step away, near values and far ones alike; of another one any.
void move_parameter(const std::vector<Parameter>& parameters, std::size_t parameter, double reach,
                    Point& point, Random& random);

/// The space's seeds as points, each once, projected where they are not allowed; those that do not
/// fit are left out.
std::vector<Point> legal_seeds(const Space& space);

}  // namespace dyn::tune
