#pragma once
// A search that can be stopped and resumed.

#include <functional>
#include <memory>
#include <vector>

#include "src/tune/search.hpp"

namespace dyn::tune {

/// A point that was evaluated.
struct Trial {
  Values values;
  double value = 0;  ///< positive; less is better
  bool operator==(const Trial&) const = default;
};

/// Gives the values of the first of these points, in their order: of all of them, or of fewer where
/// it was told to stop.
using Evaluate = std::function<std::vector<double>(const std::vector<Values>& points)>;

/// Asks a search, and keeps what it was told. A resumed session asks the search from the beginning
/// and answers with the trials of the former one, so that it goes on as if it had not been stopped.
class Session {
 public:
  /// `space` must outlive it. `known`: the trials of a session with an equal space, method and
  /// seed. Throws Error(user) where the search does not ask for them.
  Session(const Space& space, std::unique_ptr<Search> search, std::vector<Trial> known = {});

  /// Evaluates at most `most` further points of one batch. False where there was none left, or
  /// where `evaluate` stopped.
  bool step(std::size_t most, const Evaluate& evaluate);
  /// In the order in which they were asked for, the known ones included.
  const std::vector<Trial>& trials() const noexcept { return trials_; }
  /// The first of the least; nullptr without trials.
  const Trial* best() const;

 private:
  /// Asks for a batch where the last one is answered; false where nothing is left.
  bool has_batch();
  void answer(double value);

  const Space& space_;
  std::unique_ptr<Search> search_;
  std::vector<Trial> known_, trials_;
  std::vector<Values> batch_;
  std::vector<double> answers_;  ///< of the batch's first points
};

}  // namespace dyn::tune
