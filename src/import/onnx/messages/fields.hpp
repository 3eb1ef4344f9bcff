#pragma once
// The members that a field of a message has: DYN_ONNX_ACCESS(kind, type, name, number). Their names
// are those of protobuf's compiler for C++. Kinds:
//
//   one      a number, or a word of an enumeration, that may be there
//   text     bytes that may be there
//   message  a message that may be there
//   many, texts, messages    several of them

#include <optional>
#include <string>
#include <utility>

#include "src/import/onnx/messages/repeated.hpp"

// Setting a field clears the others of its `oneof`, which a class with one tells `choose`.

#define DYN_ONNX_ACCESS_one(type, name, number)                    \
 public:                                                           \
  bool has_##name() const { return name##_.has_value(); }          \
  type name() const { return name##_.value_or(type()); }           \
  void set_##name(type value) { choose(number), name##_ = value; } \
  void clear_##name() { name##_.reset(); }                         \
                                                                   \
 private:                                                          \
  std::optional<type> name##_;

#define DYN_ONNX_ACCESS_text(type, name, number)                              \
 public:                                                                      \
  bool has_##name() const { return name##_.has_value(); }                     \
  const type& name() const { return name##_ ? *name##_ : no_text(); }         \
  void set_##name(type value) { choose(number), name##_ = std::move(value); } \
  type* mutable_##name() {                                                    \
    if (!name##_) choose(number), name##_.emplace();                          \
    return &*name##_;                                                         \
  }                                                                           \
  void clear_##name() { name##_.reset(); }                                    \
                                                                              \
 private:                                                                     \
  std::optional<type> name##_;

#define DYN_ONNX_ACCESS_message(type, name, number)       \
 public:                                                  \
  bool has_##name() const { return name##_.has_value(); } \
  const type& name() const { return name##_.value(); }    \
  type* mutable_##name() {                                \
    if (!name##_.has_value()) choose(number);             \
    return name##_.made();                                \
  }                                                       \
  void clear_##name() { name##_.reset(); }                \
                                                          \
 private:                                                 \
  OptionalMessage<type> name##_;

#define DYN_ONNX_ACCESS_many(type, name, number)                        \
 public:                                                                \
  int name##_size() const { return name##_.size(); }                    \
  type name(int index) const { return name##_.Get(index); }             \
  const RepeatedField<type>& name() const { return name##_; }           \
  RepeatedField<type>* mutable_##name() { return &name##_; }            \
  void set_##name(int index, type value) { name##_.Set(index, value); } \
  void add_##name(type value) { name##_.Add(value); }                   \
  void clear_##name() { name##_.Clear(); }                              \
                                                                        \
 private:                                                               \
  RepeatedField<type> name##_;

#define DYN_ONNX_ACCESS_several(type, name)                          \
 public:                                                             \
  int name##_size() const { return name##_.size(); }                 \
  const type& name(int index) const { return name##_.Get(index); }   \
  const RepeatedPtrField<type>& name() const { return name##_; }     \
  type* mutable_##name(int index) { return name##_.Mutable(index); } \
  RepeatedPtrField<type>* mutable_##name() { return &name##_; }      \
  type* add_##name() { return name##_.Add(); }                       \
  void clear_##name() { name##_.Clear(); }                           \
                                                                     \
 private:                                                            \
  RepeatedPtrField<type> name##_;

#define DYN_ONNX_ACCESS_texts(type, name, number)                                      \
 DYN_ONNX_ACCESS_several(type, name) public : void set_##name(int index, type value) { \
    name##_[index] = std::move(value);                                                 \
  }                                                                                    \
  void add_##name(type value) { name##_.Add(std::move(value)); }

#define DYN_ONNX_ACCESS_messages(type, name, number) DYN_ONNX_ACCESS_several(type, name)

#define DYN_ONNX_ACCESS(kind, type, name, number) DYN_ONNX_ACCESS_##kind(type, name, number)
