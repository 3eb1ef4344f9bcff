// Order along an axis: topk, cumsum, unique.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

/// True where a comes before b in ascending order; NaN is the largest of all, as in NumPy.
template <class T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

template <class T>
void topk(const Call& call) {
  const AlongAxis from(call.inputs[0].dims, call.axis("axis")),
      to(call.outputs[0].dims, call.axis("axis"));
  const bool largest = graph::attr_boolean(call.node, "largest");
  const auto x = call.inputs[0].elements<const T>();
  const auto values = call.outputs[0].elements<T>();
  const auto places = call.outputs[1].elements<std::int64_t>();
  std::vector<std::int64_t> order(static_cast<std::size_t>(from.extent));
  for (std::int64_t o = 0; o < from.outer; ++o) {
    for (std::int64_t i = 0; i < from.inner; ++i) {
      const auto at = [&](std::int64_t place) {
        return x[static_cast<std::size_t>((o * from.extent + place) * from.inner + i)];
      };
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + to.extent, order.end(),
                        [&](std::int64_t a, std::int64_t b) {
                          const bool first = largest ? before(at(b), at(a)) : before(at(a), at(b)),
                                     second = largest ? before(at(a), at(b)) : before(at(b), at(a));
                          return first || (!second && a < b);
                        });
      for (std::int64_t k = 0; k < to.extent; ++k) {
        const auto out = static_cast<std::size_t>((o * to.extent + k) * to.inner + i);
        places[out] = order[static_cast<std::size_t>(k)];
        values[out] = at(places[out]);
      }
    }
  }
}

template <class T>
void cumsum(const Call& call) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  const AlongAxis along(call.inputs[0].dims, call.axis("axis"));
  const bool exclusive = graph::attr_boolean(call.node, "exclusive"),
             reverse = graph::attr_boolean(call.node, "reverse"),
             product = graph::attr_boolean(call.node, "product");
  const auto x = call.inputs[0].elements<const T>();
  const auto y = call.outputs[0].elements<T>();
  for (std::int64_t o = 0; o < along.outer; ++o) {
    for (std::int64_t i = 0; i < along.inner; ++i) {
      Sum sum = product ? 1 : 0;
      for (std::int64_t step = 0; step < along.extent; ++step) {
        const auto at = static_cast<std::size_t>(
            (o * along.extent + (reverse ? along.extent - 1 - step : step)) * along.inner + i);
        const Sum element = static_cast<Sum>(x[at]), next = product ? sum * element : sum + element;
        y[at] = static_cast<T>(exclusive ? sum : next);
        sum = next;
      }
    }
  }
}

/// Tells which slices of x are equal, as unique() finds them.
struct Distinct {
  std::vector<std::int64_t>
      first;  ///< for each distinct slice, its first place, in the order of the result
  std::vector<std::int64_t> inverse;  ///< for each slice, its number in the result
  std::vector<std::int64_t> counts;
};

template <class T>
Distinct find_distinct(const Call& call) {
  const AlongAxis along(call.inputs[0].dims, call.axis("axis"));
  const auto x = call.inputs[0].elements<const T>();
  const auto compare = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t o = 0; o < along.outer; ++o) {
      for (std::int64_t i = 0; i < along.inner; ++i) {
        const T left = x[static_cast<std::size_t>((o * along.extent + a) * along.inner + i)],
                right = x[static_cast<std::size_t>((o * along.extent + b) * along.inner + i)];
        if (before(left, right)) return -1;
        if (before(right, left)) return 1;
      }
    }
    return 0;
  };
  std::vector<std::int64_t> order(static_cast<std::size_t>(along.extent));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    const int sign = compare(a, b);
    return sign < 0 || (sign == 0 && a < b);
  });
  Distinct distinct;
  distinct.inverse.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || compare(order[k - 1], order[k]) != 0) {
      distinct.first.push_back(order[k]);
      distinct.counts.push_back(0);
    }
    ++distinct.counts.back();
    distinct.inverse[static_cast<std::size_t>(order[k])] =
        static_cast<std::int64_t>(distinct.first.size()) - 1;
  }
  return distinct;
}

void order_by_first_place(Distinct& distinct) {
  std::vector<std::size_t> order(distinct.first.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t k) { return distinct.first[k]; });
  std::vector<std::int64_t> place(order.size());
  Distinct sorted;
  for (std::size_t k = 0; k < order.size(); ++k) {
    place[order[k]] = static_cast<std::int64_t>(k);
    sorted.first.push_back(distinct.first[order[k]]);
    sorted.counts.push_back(distinct.counts[order[k]]);
  }
  for (const std::int64_t number : distinct.inverse)
    sorted.inverse.push_back(place[static_cast<std::size_t>(number)]);
  distinct = std::move(sorted);
}

Counted count_unique(const Call& call) {
  auto distinct = std::make_shared<Distinct>();
  visit_numbers(call.inputs[0].dtype,
                [&](auto zero) { *distinct = find_distinct<decltype(zero)>(call); });
  if (!graph::attr_boolean(call.node, "sorted")) order_by_first_place(*distinct);
  return {Outcome::Ok, {static_cast<std::int64_t>(distinct->first.size())}, distinct};
}

template <class T>
void copy_slices(const Call& call, const std::vector<std::int64_t>& places) {
  const AlongAxis from(call.inputs[0].dims, call.axis("axis")),
      to(call.outputs[0].dims, call.axis("axis"));
  const auto* x = static_cast<const T*>(call.inputs[0].data);
  auto* y = static_cast<T*>(call.outputs[0].data);
  for (std::int64_t o = 0; o < from.outer; ++o) {
    for (std::int64_t k = 0; k < to.extent; ++k) {
      std::copy_n(x + (o * from.extent + places[static_cast<std::size_t>(k)]) * from.inner,
                  from.inner, y + (o * to.extent + k) * to.inner);
    }
  }
}

Outcome run_unique(const Call& call) {
  const auto& distinct = *static_cast<const Distinct*>(call.kept.get());
  visit_bits(call.inputs[0].dtype,
             [&](auto zero) { copy_slices<decltype(zero)>(call, distinct.first); });
  std::ranges::copy(distinct.first, call.outputs[1].elements<std::int64_t>().begin());
  std::ranges::copy(distinct.inverse, call.outputs[2].elements<std::int64_t>().begin());
  std::ranges::copy(distinct.counts, call.outputs[3].elements<std::int64_t>().begin());
  return Outcome::Ok;
}

constexpr Operator order_family[] = {
    {graph::OpId::Topk,
     [](const Call& call) {
       visit_numbers(call.inputs[0].dtype, [&](auto zero) { topk<decltype(zero)>(call); });
       return Outcome::Ok;
     }},
    {graph::OpId::Cumsum,
     [](const Call& call) {
       visit_numbers(call.inputs[0].dtype, [&](auto zero) { cumsum<decltype(zero)>(call); });
       return Outcome::Ok;
     }},
    {graph::OpId::Unique, run_unique, count_unique},
};

}  // namespace

std::span<const Operator> order_operators() { return order_family; }

}  // namespace dyn::host
