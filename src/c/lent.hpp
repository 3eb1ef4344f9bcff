#pragma once
// Functions of C that a host lends to dyn, with their context.

namespace dyn::c {

/// The host's functions, whose release is called at the end, unless the host has not heard that
/// they were taken.
template <class Functions>
class Lent {
 public:
  explicit Lent(const Functions& functions) : functions_(functions) {}
  ~Lent() {
    if (taken_ && functions_.release != nullptr) functions_.release(functions_.context);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  const Functions& operator*() const noexcept { return functions_; }
  const Functions* operator->() const noexcept { return &functions_; }
  void take() noexcept { taken_ = true; }

 private:
  Functions functions_;
  bool taken_ = false;
};

}  // namespace dyn::c
