#include "src/tune/session.hpp"

#include <algorithm>
#include <utility>

#include "dyn/error.hpp"

namespace dyn::tune {

Session::Session(const Space& space, std::unique_ptr<Search> search, std::vector<Trial> known)
    : space_(space), search_(std::move(search)), known_(std::move(known)) {
  // Points that were evaluated before are answered at once.
  while (trials_.size() < known_.size() && has_batch()) {
    const Trial& next = known_[trials_.size()];
    if (next.values != batch_[answers_.size()]) break;
    answer(next.value);
  }
  if (trials_.size() < known_.size()) {
    throw Error(ErrorKind::user,
                "the search does not ask for the programs that were tried before: they were tried "
                "in another order, or in another space");
  }
}

bool Session::has_batch() {
  if (answers_.size() < batch_.size()) return true;
  if (!batch_.empty()) search_->tell(answers_);
  answers_.clear();
  batch_.clear();
  for (const Point& point : search_->ask()) batch_.push_back(space_.values_of(point));
  return !batch_.empty();
}

void Session::answer(double value) {
  trials_.push_back({batch_[answers_.size()], value});
  answers_.push_back(value);
}

bool Session::step(std::size_t most, const Evaluate& evaluate) {
  if (most == 0 || !has_batch()) return false;
  const std::size_t count = std::min(most, batch_.size() - answers_.size());
  const auto first = batch_.begin() + static_cast<std::ptrdiff_t>(answers_.size());
  const std::vector<double> values =
      evaluate(std::vector<Values>(first, first + static_cast<std::ptrdiff_t>(count)));
  for (std::size_t i = 0; i < std::min(count, values.size()); ++i) answer(values[i]);
  return values.size() >= count;
}

const Trial* Session::best() const {
  const auto least = std::ranges::min_element(trials_, {}, &Trial::value);
  return least == trials_.end() ? nullptr : &*least;
}

}  // namespace dyn::tune
