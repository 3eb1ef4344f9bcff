#include "src/runtime/device/budget.hpp"

#include <algorithm>
#include <utility>

namespace dyn::runtime {

bool DeviceBudget::Share::grow_to(std::size_t bytes) {
  if (budget_ == nullptr || bytes <= bytes_) return true;
  const std::lock_guard lock(budget_->mutex_);
  if (budget_->awaited() || !budget_->fits(bytes - bytes_)) return false;
  budget_->used_ += bytes - bytes_;
  bytes_ = bytes;
  return true;
}

void DeviceBudget::Share::wait_for(std::size_t bytes) {
  DeviceBudget& budget = *budget_;
  std::unique_lock lock(budget.mutex_);
  const std::uint64_t turn = budget.next_turn_++;
  budget.waiting_.fetch_add(1);
  budget.changed_.wait(lock, [&] { return budget.turn_ == turn; });
  while (!budget.fits(bytes)) {
    const std::uint64_t seen = budget.changes_;
    lock.unlock();
    const bool taken = budget.take_from_holders();
    lock.lock();
    if (!taken) budget.changed_.wait(lock, [&] { return budget.changes_ != seen; });
  }
  budget.used_ += bytes;
  bytes_ = bytes;
  ++budget.turn_;
  budget.waiting_.fetch_sub(1);
  budget.changed_.notify_all();
}

void DeviceBudget::Share::shrink_to(std::size_t bytes) noexcept {
  if (budget_ == nullptr || bytes >= bytes_) return;
  {
    const std::lock_guard lock(budget_->mutex_);
    budget_->used_ -= bytes_ - bytes;
    bytes_ = bytes;
  }
  budget_->note_change();
}

void DeviceBudget::run_is_free() noexcept {
  if (awaited()) note_change();
}

void DeviceBudget::note_change() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ++changes_;
  }
  changed_.notify_all();
}

void DeviceBudget::join(Holder& holder) {
  const std::lock_guard lock(holders_mutex_);
  holders_.push_back(&holder);
}

void DeviceBudget::leave(Holder& holder) {
  const std::lock_guard lock(holders_mutex_);
  std::erase(holders_, &holder);
}

/// Runs that are over first: their memory costs no time.
bool DeviceBudget::take_from_holders() noexcept {
  const std::lock_guard lock(holders_mutex_);
  const auto any = [&](auto take) { return std::ranges::any_of(holders_, take); };
  return any([](Holder* holder) { return holder->release_one(); }) ||
         any([](Holder* holder) { return holder->end_one(); });
}

std::size_t DeviceBudget::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace dyn::runtime
