#pragma once
// A model that is being made, as C sees it: its builder, and the handles of its values.

#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "dyn/builder.hpp"
#include "src/c/guard.hpp"

namespace dyn::c {

/// Handles of values go with the builder's, as they would be many to release one by one. One user
/// at a time.
class Building {
 public:
  explicit Building(Builder builder) : builder_(std::move(builder)) {}
  ~Building();
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;

  Builder& builder() noexcept { return builder_; }
  /// The same for what ends the building. Throws the first error again.
  Builder& whole() {
    check();
    return builder_;
  }
  dyn_value* add(Value value);
  /// Throws Error(user) for a handle that is none of this model's; `argument` says which.
  Value value(const dyn_value* handle, const char* argument) const;
  Values values(std::span<dyn_value* const> handles, const char* argument) const;

  /// `work` changes the model. The first error stays: the model is not what its maker meant,
  /// whoever has looked at the status.
  template <class Work>
  auto changed(const Work& work) {
    check();
    try {
      return work();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }
  void check() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  Builder builder_;
  std::vector<dyn_value*> values_;
  std::exception_ptr failure_;
};

/// A value, and whose it is.
struct BuiltValue {
  Value value;
  const Building* owner;
};

using BuilderHandle = Handled<Kind::builder, Building, Users::one>;
using ValueHandle = Handled<Kind::value, BuiltValue, Users::many>;

/// Handles for the definition of an operator, for as long as this lives.
class Definition {
 public:
  Definition(const Builder& builder, const Values& inputs);
  ~Definition();
  Definition(const Definition&) = delete;
  Definition& operator=(const Definition&) = delete;

  dyn_builder* builder() const noexcept { return builder_; }
  const std::vector<dyn_value*>& inputs() const noexcept { return inputs_; }
  /// Throws the builder's first error, and Error(user) for what is no value of its.
  Values results(const std::vector<dyn_value*>& outputs) const;

 private:
  dyn_builder* builder_ = nullptr;
  std::vector<dyn_value*> inputs_;
};

}  // namespace dyn::c
