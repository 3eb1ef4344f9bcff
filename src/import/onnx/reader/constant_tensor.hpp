#pragma once
// Constant tensors in memory, and such whose elements are made when they are read.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dyn/dtype.hpp"

namespace dyn::onnx {

/// A dense tensor, its elements in row-major order as the machine stores them.
struct Tensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::string bytes;

  std::int64_t elements() const;
};

/// A constant, or none. Its dtype and dims are known; its elements may be made at the first read,
/// once for all copies. Not for several threads.
class ConstantTensor {
 public:
  ConstantTensor() = default;
  ConstantTensor(std::nullptr_t) {}                   // NOLINT(google-explicit-constructor)
  ConstantTensor(std::shared_ptr<const Tensor> made)  // NOLINT(google-explicit-constructor)
      : held_(made ? std::make_shared<Held>(made->dtype, made->dims, std::move(made), nullptr)
                   : nullptr) {}
  /// `make` gives a tensor of this dtype and these dims.
  ConstantTensor(DType dtype, std::vector<std::int64_t> dims, std::function<Tensor()> make)
      : held_(std::make_shared<Held>(dtype, std::move(dims), nullptr, std::move(make))) {}

  explicit operator bool() const { return held_ != nullptr; }
  DType dtype() const { return held_->dtype; }
  const std::vector<std::int64_t>& dims() const { return held_->dims; }
  std::size_t bytes() const {
    std::size_t count = size_of(dtype());
    for (const std::int64_t dim : dims()) count *= static_cast<std::size_t>(dim);
    return count;
  }
  /// The same for copies, and for others of the same elements in memory; nullptr for none.
  const void* identity() const {
    if (!held_ || held_->is_deferred) return held_.get();
    return held_->made.get();
  }

  /// With its elements; nullptr: there is no constant.
  const std::shared_ptr<const Tensor>& tensor() const {
    static const std::shared_ptr<const Tensor> none;
    if (!held_) return none;
    if (!held_->made) {
      held_->made = std::make_shared<const Tensor>(held_->make());
      held_->make = nullptr;
    }
    return held_->made;
  }
  /// The same, but elements that are made for it are not kept.
  std::shared_ptr<const Tensor> passing() const {
    return held_->made ? held_->made : std::make_shared<const Tensor>(held_->make());
  }
  const Tensor* get() const { return tensor().get(); }
  const Tensor& operator*() const { return *tensor(); }
  const Tensor* operator->() const { return get(); }

 private:
  struct Held {
    Held(DType of, std::vector<std::int64_t> sizes, std::shared_ptr<const Tensor> known,
         std::function<Tensor()> maker)
        : dtype(of),
          dims(std::move(sizes)),
          is_deferred(maker != nullptr),
          made(std::move(known)),
          make(std::move(maker)) {}

    const DType dtype;
    const std::vector<std::int64_t> dims;
    const bool is_deferred;
    std::shared_ptr<const Tensor> made;
    std::function<Tensor()> make;
  };
  std::shared_ptr<Held> held_;
};

}  // namespace dyn::onnx
