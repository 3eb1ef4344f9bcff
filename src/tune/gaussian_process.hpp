#pragma once
// A Gaussian process over points of a discrete space: TSCompiler's local surrogate (section 5.1),
// as Eriksson and others describe it ("Scalable Global Optimization via Local Bayesian
// Optimization", 2019).

#include <memory>
#include <span>
#include <vector>

#include "src/tune/space.hpp"

namespace dyn::tune {

/// A Matérn kernel of smoothness 5/2 over the distances of parameters, each with a length of its
/// own, with noise. Values are standardised.
class GaussianProcess {
 public:
  explicit GaussianProcess(const std::vector<Parameter>& parameters);
  ~GaussianProcess();
  GaussianProcess(GaussianProcess&&) noexcept;

  /// Takes observations in place of those before, at least one, and moves the lengths and the noise
  /// to where the likelihood of the values is greater. `mean`: of each point, before anything is
  /// observed.
  void fit(const std::vector<Point>& points, std::span<const double> values,
           std::span<const double> mean);
  /// So many draws from the posterior, each at all points together. `mean`: as for fit().
  std::vector<std::vector<double>> draws(std::size_t count, const std::vector<Point>& points,
                                         std::span<const double> mean, Random& random) const;
  struct Belief {
    double mean = 0, deviation = 0;
  };
  Belief at(const Point& point, double mean) const;

  /// One for each parameter, in shares of its range: values so far apart tell little of each other.
  const std::vector<double>& lengths() const noexcept { return lengths_; }

 private:
  struct Solved;
  /// Its likelihood, up to what does not depend on the lengths; sets solved_.
  double solve();
  double correlation(const Point& a, const Point& b) const;

  const std::vector<Parameter>& parameters_;
  std::vector<double> lengths_;
  double noise_;  ///< variance, as a share of the signal's
  std::vector<Point> points_;
  std::vector<double> residuals_;  ///< values less their mean, standardised
  double middle_ = 0, scale_ = 1;  ///< of the residuals before
  std::unique_ptr<Solved> solved_;
};

}  // namespace dyn::tune
