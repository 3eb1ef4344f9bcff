#include "src/tune/gaussian_process.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace dyn::tune {
namespace {

constexpr double least_length = 0.05, most_length = 8, first_length = 0.7;
constexpr double least_noise = 1e-4, most_noise = 0.3, first_noise = 1e-2;
constexpr double step = 1.8;          // of lengths, when better ones are looked for
constexpr double prior_spread = 1.5;  // standard deviation of a length's logarithm around the first
constexpr double jitter = 1e-8;       // what keeps a covariance of draws positive definite

/// Matérn 5/2 of a squared distance.
double matern(double squares) {
  const double r = std::sqrt(5 * squares);
  return (1 + r + r * r / 3) * std::exp(-r);
}

Eigen::Index index_of(std::size_t i) { return static_cast<Eigen::Index>(i); }

}  // namespace

struct GaussianProcess::Solved {
  Eigen::LLT<Eigen::MatrixXd> factor;  ///< of the correlations of all observations, with noise
  Eigen::VectorXd weights;             ///< its inverse times the residuals
  double variance = 1;                 ///< of the signal
};

GaussianProcess::GaussianProcess(const std::vector<Parameter>& parameters)
    : parameters_(parameters), lengths_(parameters.size(), first_length), noise_(first_noise) {}
GaussianProcess::~GaussianProcess() = default;
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;

double GaussianProcess::correlation(const Point& a, const Point& b) const {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double share = distance(parameters_[i], a[i], b[i]) / lengths_[i];
    squares += share * share;
  }
  return matern(squares);
}

double GaussianProcess::solve() {
  const std::size_t count = points_.size();
  Eigen::MatrixXd matrix(index_of(count), index_of(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      matrix(index_of(i), index_of(j)) = correlation(points_[i], points_[j]);
    matrix(index_of(i), index_of(i)) = 1 + noise_;
  }
  solved_ = std::make_unique<Solved>();
  solved_->factor.compute(matrix);  // reads the lower half
  const Eigen::Map<const Eigen::VectorXd> residuals(residuals_.data(), index_of(count));
  solved_->weights = solved_->factor.solve(residuals);
  // The likelihood is greatest with this variance.
  const double n = static_cast<double>(count);
  solved_->variance = std::max(residuals.dot(solved_->weights) / n, 1e-12);
  double likelihood = -n / 2 * std::log(solved_->variance);
  for (Eigen::Index i = 0; i < index_of(count); ++i)
    likelihood -= std::log(solved_->factor.matrixLLT()(i, i));
  for (const double length : lengths_) {
    const double away = std::log(length / first_length) / prior_spread;
    likelihood -= away * away / 2;
  }
  return likelihood;
}

void GaussianProcess::fit(const std::vector<Point>& points, std::span<const double> values,
                          std::span<const double> mean) {
  points_ = points;
  residuals_.clear();
  for (std::size_t i = 0; i < values.size(); ++i) residuals_.push_back(values[i] - mean[i]);
  const double n = static_cast<double>(residuals_.size());
  middle_ = 0;
  for (const double residual : residuals_) middle_ += residual / n;
  double squares = 0;
  for (const double residual : residuals_) squares += (residual - middle_) * (residual - middle_);
  scale_ = squares > 0 ? std::sqrt(squares / n) : 1;
  for (double& residual : residuals_) residual = (residual - middle_) / scale_;
  double best = solve();
  const auto try_factor = [&](double& value, double factor, double least, double most) {
    const double before = value;
    value = std::clamp(value * factor, least, most);
    if (value == before) return false;
    const double likelihood = solve();
    if (likelihood > best) {
      best = likelihood;
      return true;
    }
    value = before;
    return false;
  };
  for (std::size_t i = 0; i < lengths_.size(); ++i) {
    if (parameters_[i].values.size() < 2) continue;
    if (!try_factor(lengths_[i], step, least_length, most_length))
      try_factor(lengths_[i], 1 / step, least_length, most_length);
  }
  if (!try_factor(noise_, 3, least_noise, most_noise))
    try_factor(noise_, 1.0 / 3, least_noise, most_noise);
  solve();
}

std::vector<std::vector<double>> GaussianProcess::draws(std::size_t count,
                                                        const std::vector<Point>& points,
                                                        std::span<const double> mean,
                                                        Random& random) const {
  const Eigen::Index known = index_of(points_.size()), places = index_of(points.size());
  Eigen::MatrixXd across(known, places), among(places, places);
  for (Eigen::Index j = 0; j < places; ++j) {
    const Point& point = points[static_cast<std::size_t>(j)];
    for (Eigen::Index i = 0; i < known; ++i)
      across(i, j) = correlation(points_[static_cast<std::size_t>(i)], point);
    for (Eigen::Index i = 0; i <= j; ++i)
      among(i, j) = among(j, i) = correlation(points[static_cast<std::size_t>(i)], point);
  }
  const Eigen::VectorXd expected = across.transpose() * solved_->weights;
  const Eigen::MatrixXd explained = solved_->factor.matrixL().solve(across);
  among -= explained.transpose() * explained;
  among.diagonal().array() += jitter + noise_ * 1e-3;
  const Eigen::LDLT<Eigen::MatrixXd> factor(among);
  // Rounding may leave a diagonal slightly below 0.
  const Eigen::VectorXd roots = factor.vectorD().array().max(0).sqrt();
  std::normal_distribution<double> normal(0, 1);
  std::vector<std::vector<double>> draws(count);
  for (std::vector<double>& values : draws) {
    Eigen::VectorXd noise(places);
    for (Eigen::Index i = 0; i < places; ++i) noise(i) = roots(i) * normal(random);
    Eigen::VectorXd drawn = factor.matrixL() * noise;
    drawn = factor.transpositionsP().transpose() * drawn;
    for (Eigen::Index i = 0; i < places; ++i) {
      values.push_back(mean[static_cast<std::size_t>(i)] + middle_ +
                       scale_ * (expected(i) + std::sqrt(solved_->variance) * drawn(i)));
    }
  }
  return draws;
}

GaussianProcess::Belief GaussianProcess::at(const Point& point, double mean) const {
  Eigen::VectorXd across(index_of(points_.size()));
  for (std::size_t i = 0; i < points_.size(); ++i)
    across(index_of(i)) = correlation(points_[i], point);
  const Eigen::VectorXd explained = solved_->factor.matrixL().solve(across);
  const double left = std::max(0.0, 1 - explained.squaredNorm());
  return {mean + middle_ + scale_ * across.dot(solved_->weights),
          scale_ * std::sqrt(solved_->variance * left)};
}

}  // namespace dyn::tune
