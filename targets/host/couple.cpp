// Probabilities of classes from those of pairs.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

/// The minimum over p, whose sum is 1, of the sum over pairs of (r_ji * p_i - r_ij * p_j)^2, where
/// r_ij is the probability of i in the pair: that of p' q p.
class Coupling {
 public:
  explicit Coupling(std::size_t classes) : classes_(classes), q_(classes * classes), qp_(classes) {}

  void solve(const float* pairs, float* p) {
    set_conditions(pairs);
    std::fill_n(p, classes_, 1 / static_cast<float>(classes_));
    constexpr int most_rounds = 100;
    for (int round = 0; round < most_rounds; ++round) {
      if (residuals(p) < 0.005F / static_cast<float>(classes_)) return;
      for (std::size_t i = 0; i < classes_; ++i) improve(p, i);
    }
  }

 private:
  float& q(std::size_t i, std::size_t j) { return q_[i * classes_ + j]; }

  void set_conditions(const float* pairs) {
    std::ranges::fill(q_, 0.0F);
    for (std::size_t i = 0; i < classes_; ++i) {
      for (std::size_t j = i + 1; j < classes_; ++j) {
        const float first = *pairs++, second = 1 - first;
        q(i, i) += second * second;
        q(j, j) += first * first;
        q(i, j) = q(j, i) = -first * second;
      }
    }
  }

  /// The largest of q p - (p' q p), which are all 0 at the minimum.
  float residuals(const float* p) {
    pqp_ = 0;
    for (std::size_t i = 0; i < classes_; ++i) {
      qp_[i] = std::inner_product(p, p + classes_, &q(i, 0), 0.0F);
      pqp_ += p[i] * qp_[i];
    }
    float greatest = 0;
    for (const float each : qp_) greatest = std::max(greatest, std::abs(each - pqp_));
    return greatest;
  }

  /// Meets condition i, and makes the sum of p 1 again.
  void improve(float* p, std::size_t i) {
    const float change = (pqp_ - qp_[i]) / q(i, i), scale = 1 / (1 + change);
    p[i] += change;
    pqp_ = (pqp_ + change * (change * q(i, i) + 2 * qp_[i])) * scale * scale;
    for (std::size_t j = 0; j < classes_; ++j) {
      qp_[j] = (qp_[j] + change * q(i, j)) * scale;
      p[j] *= scale;
    }
  }

  const std::size_t classes_;
  std::vector<float> q_, qp_;
  float pqp_ = 0;
};

Outcome couple(const Call& call) {
  const auto classes = static_cast<std::size_t>(call.outputs[0].dims[1]);
  const auto* pairs = static_cast<const float*>(call.inputs[0].data);
  auto* out = static_cast<float*>(call.outputs[0].data);
  Coupling coupling(classes);
  for (std::int64_t row = 0; row < call.outputs[0].dims[0]; ++row) {
    coupling.solve(pairs, out);
    pairs += call.inputs[0].dims[1];
    out += classes;
  }
  return Outcome::Ok;
}

/// As if a row took ten rounds.
double coupling_seconds(const Call& call) {
  constexpr double seconds = 10e-9;
  const auto size = [&](std::size_t axis) {
    return static_cast<double>(call.outputs[0].dims[axis]);
  };
  return size(0) * size(1) * size(1) * seconds;
}

constexpr Operator couple_family[] = {
    {graph::OpId::Couple, couple, nullptr, nullptr, coupling_seconds}};

}  // namespace

std::span<const Operator> couple_operators() { return couple_family; }

}  // namespace dyn::host
