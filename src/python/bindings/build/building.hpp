#pragma once
// A model that Python builds.

#include <memory>
#include <utility>
#include <vector>

#include "dyn/builder.hpp"
#include "src/python/bindings/arrays/given.hpp"
#include "src/python/bindings/build/dim_expr.hpp"
#include "src/python/bindings/host/failure.hpp"

namespace dyn::python {

/// A dyn::Builder, which the dyn.Builder, its values and its dims share. Operators' functions, and
/// with them other threads, may run while it is used; they must leave it alone. Used by whoever
/// holds the GIL.
class Building final : public DimScope {
 public:
  /// `failure`: notes what the functions of its operators raise.
  Building(Builder builder, std::shared_ptr<PythonFailure> failure)
      : builder_(std::move(builder)), failure_(std::move(failure)) {}

  void check() const override {
    if (is_over_)
      user_error("what an operator's definition gets and makes is of use until it returns");
    if (is_busy_)
      user_error(
          "this dyn.Builder is at work: for another thread, or for what called this function");
  }
  /// The definition that builds returns.
  void end() { is_over_ = true; }

  /// Gives what `work` gives for the builder.
  template <class Work>
  auto use(const Work& work) {
    check();
    struct Busy {
      bool& is_busy;
      ~Busy() { is_busy = false; }
    } const busy{is_busy_};
    is_busy_ = true;
    try {
      return work(builder_);
    } catch (const Error& error) {
      failure_->raise(error);
      throw;
    }
  }

  const std::shared_ptr<PythonFailure>& failure() const { return failure_; }
  /// Memory of weights, until nothing of the builder is left.
  void keep(std::unique_ptr<Loan> loan) { loans_.push_back(std::move(loan)); }

 private:
  std::vector<std::unique_ptr<Loan>> loans_;  ///< outlives the builder
  Builder builder_;
  const std::shared_ptr<PythonFailure> failure_;
  bool is_busy_ = false, is_over_ = false;
};

}  // namespace dyn::python
