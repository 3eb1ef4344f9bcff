#pragma once
// Fields of messages that hold other messages, or several values. Members are called as those of
// protobuf's own classes.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace dyn::onnx {

/// Several numbers.
template <class T>
class RepeatedField {
 public:
  using value_type = T;
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  int size() const { return static_cast<int>(values_.size()); }
  bool empty() const { return values_.empty(); }
  T Get(int index) const { return values_[static_cast<std::size_t>(index)]; }
  T operator[](int index) const { return Get(index); }
  void Set(int index, T value) { values_[static_cast<std::size_t>(index)] = value; }
  void Add(T value) { values_.push_back(value); }
  template <class Iterator>
  void Add(Iterator first, Iterator last) {
    values_.insert(values_.end(), first, last);
  }
  void RemoveLast() { values_.pop_back(); }
  void Clear() { values_.clear(); }
  const T* data() const { return values_.data(); }
  iterator begin() { return values_.begin(); }
  iterator end() { return values_.end(); }
  const_iterator begin() const { return values_.begin(); }
  const_iterator end() const { return values_.end(); }

 private:
  std::vector<T> values_;
};

/// Several texts or messages. An element stays where it is while others are added. T may be
/// incomplete where the field is declared: messages contain each other.
template <class T>
class RepeatedPtrField {
  using Pointers = std::vector<std::unique_ptr<T>>;

  template <class Element, class Base>
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::remove_const_t<Element>;
    using difference_type = std::ptrdiff_t;
    using pointer = Element*;
    using reference = Element&;

    Iterator() = default;
    explicit Iterator(Base base) : base_(base) {}
    reference operator*() const { return **base_; }
    pointer operator->() const { return base_->get(); }
    reference operator[](difference_type n) const { return *base_[n]; }
    Iterator& operator++() { return ++base_, *this; }
    Iterator& operator--() { return --base_, *this; }
    Iterator operator++(int) { return Iterator(base_++); }
    Iterator operator--(int) { return Iterator(base_--); }
    Iterator& operator+=(difference_type n) { return base_ += n, *this; }
    Iterator& operator-=(difference_type n) { return base_ -= n, *this; }
    friend Iterator operator+(Iterator at, difference_type n) { return at += n; }
    friend Iterator operator+(difference_type n, Iterator at) { return at += n; }
    friend Iterator operator-(Iterator at, difference_type n) { return at -= n; }
    friend difference_type operator-(Iterator a, Iterator b) { return a.base_ - b.base_; }
    friend bool operator==(Iterator a, Iterator b) { return a.base_ == b.base_; }
    friend auto operator<=>(Iterator a, Iterator b) { return a.base_ <=> b.base_; }
    Base base() const { return base_; }

   private:
    Base base_{};
  };

 public:
  using value_type = T;
  using iterator = Iterator<T, typename Pointers::iterator>;
  using const_iterator = Iterator<const T, typename Pointers::const_iterator>;

  RepeatedPtrField() = default;
  RepeatedPtrField(const RepeatedPtrField& other) { MergeFrom(other); }
  RepeatedPtrField(RepeatedPtrField&&) noexcept = default;
  RepeatedPtrField& operator=(const RepeatedPtrField& other) {
    return *this = RepeatedPtrField(other);
  }
  RepeatedPtrField& operator=(RepeatedPtrField&&) noexcept = default;
  ~RepeatedPtrField() = default;

  int size() const { return static_cast<int>(pointers_.size()); }
  bool empty() const { return pointers_.empty(); }
  const T& Get(int index) const { return *pointers_[static_cast<std::size_t>(index)]; }
  T* Mutable(int index) { return pointers_[static_cast<std::size_t>(index)].get(); }
  const T& operator[](int index) const { return Get(index); }
  T& operator[](int index) { return *Mutable(index); }
  T* Add() { return pointers_.emplace_back(std::make_unique<T>()).get(); }
  T* Add(T value) { return pointers_.emplace_back(std::make_unique<T>(std::move(value))).get(); }
  void MergeFrom(const RepeatedPtrField& other) {
    pointers_.reserve(pointers_.size() + other.pointers_.size());
    for (const T& each : other) Add(each);
  }
  void RemoveLast() { pointers_.pop_back(); }
  void DeleteSubrange(int first, int count) {
    pointers_.erase(pointers_.begin() + first, pointers_.begin() + first + count);
  }
  iterator erase(iterator first, iterator last) {
    return iterator(pointers_.erase(first.base(), last.base()));
  }
  void Clear() { pointers_.clear(); }
  iterator begin() { return iterator(pointers_.begin()); }
  iterator end() { return iterator(pointers_.end()); }
  const_iterator begin() const { return const_iterator(pointers_.begin()); }
  const_iterator end() const { return const_iterator(pointers_.end()); }

 private:
  Pointers pointers_;
};

/// A message that may be there, and may be incomplete where it is declared.
template <class T>
class OptionalMessage {
 public:
  OptionalMessage() = default;
  OptionalMessage(const OptionalMessage& other)
      : message_(other.message_ ? std::make_unique<T>(*other.message_) : nullptr) {}
  OptionalMessage(OptionalMessage&&) noexcept = default;
  OptionalMessage& operator=(const OptionalMessage& other) {
    return *this = OptionalMessage(other);
  }
  OptionalMessage& operator=(OptionalMessage&&) noexcept = default;
  ~OptionalMessage() = default;

  bool has_value() const { return message_ != nullptr; }
  void reset() { message_.reset(); }
  /// One that is not there is read as one without fields.
  const T& value() const {
    static const T none;
    return message_ ? *message_ : none;
  }
  T* made() {
    if (!message_) message_ = std::make_unique<T>();
    return message_.get();
  }

 private:
  std::unique_ptr<T> message_;
};

}  // namespace dyn::onnx
