// Operators that decide how many elements their result has: nonzero, compress, nms, steps, sizes.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

using Places = std::vector<std::int64_t>;

const Places& kept_places(const Call& call) { return *static_cast<const Places*>(call.kept.get()); }

Counted counted(Places places, std::int64_t count) {
  return {Outcome::Ok, {count}, std::make_shared<const Places>(std::move(places))};
}

Counted count_nonzero(const Call& call) {
  Places places;
  visit_numbers(call.inputs[0].dtype, [&](auto zero) {
    const auto x = call.inputs[0].elements<const decltype(zero)>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] != zero) places.push_back(static_cast<std::int64_t>(i));
    }
  });
  const auto count = static_cast<std::int64_t>(places.size());
  return counted(std::move(places), count);
}

Outcome run_nonzero(const Call& call) {
  const Shape& dims = call.inputs[0].dims;
  const Places& places = kept_places(call);
  const auto out = call.outputs[0].elements<std::int64_t>();
  for (std::size_t k = 0; k < places.size(); ++k) {
    std::int64_t rest = places[k];
    for (std::size_t d = dims.size(); d-- > 0;) {
      out[d * places.size() + k] = rest % dims[d];
      rest /= dims[d];
    }
  }
  return Outcome::Ok;
}

Counted count_compress(const Call& call) {
  Places places;
  const auto condition = call.inputs[1].elements<const std::uint8_t>();
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) places.push_back(static_cast<std::int64_t>(i));
  }
  const auto count = static_cast<std::int64_t>(places.size());
  return counted(std::move(places), count);
}

Outcome run_compress(const Call& call) {
  const AlongAxis from(call.inputs[0].dims, call.axis("axis")),
      to(call.outputs[0].dims, call.axis("axis"));
  const std::size_t bytes = static_cast<std::size_t>(from.inner) * size_of(call.inputs[0].dtype);
  if (bytes == 0) return Outcome::Ok;
  const auto* x = static_cast<const char*>(call.inputs[0].data);
  auto* y = static_cast<char*>(call.outputs[0].data);
  for (std::int64_t o = 0; o < from.outer; ++o) {
    for (std::int64_t k = 0; k < to.extent; ++k) {
      const std::int64_t slice = o * from.extent + kept_places(call)[static_cast<std::size_t>(k)];
      std::memcpy(y + static_cast<std::size_t>(o * to.extent + k) * bytes,
                  x + static_cast<std::size_t>(slice) * bytes, bytes);
    }
  }
  return Outcome::Ok;
}

struct Box {
  double low_y, low_x, high_y, high_x;
  double area() const { return (high_y - low_y) * (high_x - low_x); }
};

Box box_of(const float* numbers, bool center) {
  std::array<double, 4> n{};
  std::copy_n(numbers, 4, n.begin());
  if (center) return {n[1] - n[3] / 2, n[0] - n[2] / 2, n[1] + n[3] / 2, n[0] + n[2] / 2};
  return {std::min(n[0], n[2]), std::min(n[1], n[3]), std::max(n[0], n[2]), std::max(n[1], n[3])};
}

/// The intersection of two boxes over their union; 0 where one has no area.
double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.high_y, b.high_y) - std::max(a.low_y, b.low_y),
               width = std::min(a.high_x, b.high_x) - std::max(a.low_x, b.low_x);
  if (height <= 0 || width <= 0) return 0;
  const double both = height * width;
  return both / (a.area() + b.area() - both);
}

/// The boxes that stay, for one class of one image, the best first.
Places select_boxes(std::span<const Box> boxes, const float* scores, std::int64_t most,
                    double share, double least) {
  Places order, chosen;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (static_cast<double>(scores[i]) > least) order.push_back(static_cast<std::int64_t>(i));
  }
  std::ranges::stable_sort(order,
                           [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  for (const std::int64_t next : order) {
    if (static_cast<std::int64_t>(chosen.size()) >= most) break;
    const auto covers = [&](std::int64_t other) {
      return overlap(boxes[static_cast<std::size_t>(other)],
                     boxes[static_cast<std::size_t>(next)]) > share;
    };
    if (std::ranges::none_of(chosen, covers)) chosen.push_back(next);
  }
  return chosen;
}

Counted count_nms(const Call& call) {
  const Shape &boxes_dims = call.inputs[0].dims, &scores_dims = call.inputs[1].dims;
  const bool center = graph::attr_boolean(call.node, "center");
  const std::int64_t count = boxes_dims[1], classes = scores_dims[1],
                     most = call.inputs[2].integer();
  const double share = call.inputs[3].number(), least = call.inputs[4].number();
  const auto* numbers = static_cast<const float*>(call.inputs[0].data);
  const auto* scores = static_cast<const float*>(call.inputs[1].data);
  Places rows;
  std::vector<Box> boxes(static_cast<std::size_t>(count));
  for (std::int64_t image = 0; image < boxes_dims[0]; ++image) {
    for (std::int64_t i = 0; i < count; ++i)
      boxes[static_cast<std::size_t>(i)] = box_of(numbers + (image * count + i) * 4, center);
    for (std::int64_t kind = 0; kind < classes; ++kind) {
      for (const std::int64_t box :
           select_boxes(boxes, scores + (image * classes + kind) * count, most, share, least))
        rows.insert(rows.end(), {image, kind, box});
    }
  }
  const auto found = static_cast<std::int64_t>(rows.size() / 3);
  return counted(std::move(rows), found);
}

Outcome run_nms(const Call& call) {
  std::ranges::copy(kept_places(call), call.outputs[0].elements<std::int64_t>().begin());
  return Outcome::Ok;
}

Counted count_steps(const Call& call) {
  if (call.inputs[2].number() == 0) return {Outcome::IndexOutOfRange, {}, nullptr};
  std::int64_t count = 0;
  if (is_float(call.inputs[0].dtype)) {
    const double steps =
        std::ceil((call.inputs[1].number() - call.inputs[0].number()) / call.inputs[2].number());
    if (!(steps < 0x1p62)) return {Outcome::IndexOutOfRange, {}, nullptr};
    count = static_cast<std::int64_t>(std::max(steps, 0.0));
  } else {
    // 128 bits hold every difference.
    __extension__ typedef __int128 Wide;
    const Wide start = call.inputs[0].integer(), limit = call.inputs[1].integer(),
               delta = call.inputs[2].integer();
    const Wide span = delta > 0 ? limit - start : start - limit, size = delta > 0 ? delta : -delta;
    if (span > 0)
      count = static_cast<std::int64_t>(
          std::min<Wide>((span + size - 1) / size, std::numeric_limits<std::int64_t>::max()));
  }
  return {Outcome::Ok, {count}, nullptr};
}

template <class T>
void fill_steps(const Call& call) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  const auto start = static_cast<Sum>(*static_cast<const T*>(call.inputs[0].data)),
             delta = static_cast<Sum>(*static_cast<const T*>(call.inputs[2].data));
  const auto out = call.outputs[0].elements<T>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<T>(start + static_cast<Sum>(i) * delta);
}

Counted count_sizes(const Call& call) {
  Counted result;
  for (std::int64_t i = 0; i < call.inputs[0].size(); ++i) {
    const Array& x = call.inputs[0];
    result.dims.push_back(x.dtype == DType::i32 ? static_cast<const std::int32_t*>(x.data)[i]
                                                : static_cast<const std::int64_t*>(x.data)[i]);
    if (result.dims.back() < 0) result.outcome = Outcome::IndexOutOfRange;
  }
  return result;
}

Outcome copy(const Call& call) {
  const std::size_t bytes =
      static_cast<std::size_t>(call.inputs[0].size()) * size_of(call.inputs[0].dtype);
  if (bytes > 0) std::memcpy(call.outputs[0].data, call.inputs[0].data, bytes);
  return Outcome::Ok;
}

constexpr Operator choice_family[] = {
    {graph::OpId::Nonzero, run_nonzero, count_nonzero},
    {graph::OpId::Compress, run_compress, count_compress},
    {graph::OpId::Nms, run_nms, count_nms},
    {graph::OpId::Steps,
     [](const Call& call) {
       visit_numbers(call.inputs[0].dtype, [&](auto zero) { fill_steps<decltype(zero)>(call); });
       return Outcome::Ok;
     },
     count_steps},
    {graph::OpId::Sizes, copy, count_sizes},
};

}  // namespace

std::span<const Operator> choice_operators() { return choice_family; }

}  // namespace dyn::host
