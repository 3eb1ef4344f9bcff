#include "src/runtime/run/memory_budget.hpp"

#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::runtime {

std::string words_of(const MemoryNeeded& needed) {
  return fmt::format("{} bytes ({} for weights, {} for intermediate tensors, {} for outputs)",
                     needed.total(), needed.weights, needed.intermediates, needed.outputs);
}

MemoryBudget::Weights::Weights(std::shared_ptr<MemoryBudget> budget, std::size_t bytes)
    : budget_(std::move(budget)), bytes_(bytes) {
  if (!budget_) return;
  const std::size_t sum = budget_->weights_.fetch_add(bytes_) + bytes_;
  if (sum <= budget_->limit_) return;
  budget_->weights_.fetch_sub(bytes_);
  throw Error(ErrorKind::device,
              fmt::format("the graph's weights need {} bytes, and it may hold {} in all "
                          "(Options::memory_budget, --memory-budget): raise that, or keep weights "
                          "in fewer bits (Options::weights)",
                          sum, budget_->limit_));
}

MemoryBudget::Weights::~Weights() {
  if (budget_) budget_->weights_.fetch_sub(bytes_);
}

void MemoryBudget::check(MemoryNeeded needed) const {
  needed.weights = weights_.load();
  if (needed.total() <= limit_) return;
  throw Error(ErrorKind::device,
              fmt::format("a run of this shape needs {}, and the graph may hold {} "
                          "(Options::memory_budget, --memory-budget): raise that, or run smaller "
                          "shapes",
                          words_of(needed), limit_));
}

bool MemoryBudget::change(std::size_t before, std::size_t after) noexcept {
  const std::size_t weights = weights_.load();
  std::size_t sum = runs_.load();
  do {
    if (after > before && weights + sum + (after - before) > limit_) return false;
  } while (!runs_.compare_exchange_weak(sum, sum - before + after));
  return true;
}

void MemoryBudget::release_idle() {
  const std::lock_guard lock(holders_mutex_);
  for (Holder* const holder : holders_) holder->release_idle();
}

void MemoryBudget::join(Holder& holder) {
  const std::lock_guard lock(holders_mutex_);
  holders_.push_back(&holder);
}

void MemoryBudget::leave(Holder& holder) {
  const std::lock_guard lock(holders_mutex_);
  std::erase(holders_, &holder);
}

void MemoryBudget::refuse(std::size_t more) const {
  throw Error(
      ErrorKind::device,
      fmt::format("a run needs {} bytes more for intermediate tensors, beside {} of weights "
                  "and {} of other runs in flight, and the graph may hold {} "
                  "(Options::memory_budget, --memory-budget): run fewer at once, or raise "
                  "that",
                  more, weights_.load(), runs_.load(), limit_));
}

}  // namespace dyn::runtime
