#pragma once
// The checks and conversions around the work of every function of the C ABI.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dyn/dyn.h"
#include "dyn/tensor.hpp"
#include "src/c/handles.hpp"

namespace dyn::c {

[[noreturn]] void user_error(const std::string& message);

/// The status of the exception that is being handled.
dyn_status* status_of_exception() noexcept;

/// The error behind the status that a function of the host gave, if it is none of success, which is
/// released; Error(user), naming `function`, for what is no status.
void check_host(dyn_status* status, const char* function);

/// Runs `work`; whatever it throws becomes a status, with the text that the exception has in C++.
template <class Work>
dyn_status* guarded(const Work& work) noexcept {
  try {
    work();
    return nullptr;
  } catch (...) { return status_of_exception(); }
}

/// The T that an argument points to. Throws Error(user) where it is NULL or does not lie where a T
/// may.
void check_pointer(const void* pointer, std::size_t alignment, const char* argument);
template <class T>
T& required(T* pointer, const char* argument) {
  check_pointer(pointer, alignof(T), argument);
  return *pointer;
}
/// Throws Error(user) where a function of the host is NULL.
template <class Result, class... Arguments>
void check_function(Result (*function)(Arguments...), const char* argument) {
  if (function == nullptr) check_pointer(nullptr, 1, argument);
}
/// The same of a string.
std::string_view required_text(const char* text, const char* argument);
/// `count` elements, which may be NULL where there are none.
template <class T>
std::span<const T> required_array(const T* elements, std::size_t count, const char* argument) {
  if (count > 0) check_pointer(elements, alignof(T), argument);
  return {elements, count};
}

[[noreturn]] void refuse_number(std::size_t index, std::size_t count, std::string_view what,
                                std::string_view whole);

/// Where a function puts what it gives. It is empty until then.
template <class T>
T& given(T* out, const char* argument) {
  T& place = required(out, argument);
  place = T{};
  return place;
}

/// A handle of C that stands for a T.
template <Kind kind_of_handle, class T, Users users_of_handle>
struct Handled : Object {
  static constexpr Kind kind = kind_of_handle;
  static constexpr Users users = users_of_handle;
  template <class... Arguments>
  explicit Handled(Arguments&&... arguments) : value(std::forward<Arguments>(arguments)...) {}
  T value;
};

/// A use of what a handle stands for, as a value of it.
template <class Handled>
class Used {
 public:
  explicit Used(const void* handle) : use_(Handled::kind, handle) {}
  auto& operator*() const noexcept { return static_cast<Handled&>(use_.object()).value; }
  auto* operator->() const noexcept { return &**this; }

 private:
  Use use_;
};

template <class Handled, class C, class... Arguments>
void make_handle(C*& place, Arguments&&... arguments) {
  place = static_cast<C*>(static_cast<void*>(
      add_handle(Handled::kind, std::make_unique<Handled>(std::forward<Arguments>(arguments)...),
                 Handled::users)));
}

/// `out` gets what `work` gives, or is empty.
template <class T, class Work>
dyn_status* gives(T* out, const char* argument, const Work& work) noexcept {
  return guarded([&] {
    T& place = given(out, argument);
    place = work();
  });
}
/// The same, where `work` gives what a new handle stands for.
template <class Handled, class C, class Work>
dyn_status* makes(C** out, const char* argument, const Work& work) noexcept {
  return guarded([&] {
    C*& place = given(out, argument);
    make_handle<Handled>(place, work());
  });
}

/// Throws Error(user) where the `struct_size` of a caller's structure is none.
void check_struct_size(std::size_t size, const char* argument);

/// The caller's structure, which may be of an older or a later version, gets what `work` gives as
/// far as its `struct_size` reaches, and 0 for the rest.
template <class T, class Work>
dyn_status* fills(T* out, const char* argument, const Work& work) noexcept {
  static_assert(offsetof(T, struct_size) == 0 && std::is_trivially_copyable_v<T>);
  return guarded([&] {
    const std::size_t size = required(out, argument).struct_size;
    check_struct_size(size, argument);
    constexpr std::size_t head = sizeof out->struct_size;
    auto* const members = reinterpret_cast<std::byte*>(out) + head;
    std::memset(members, 0, size - head);
    const T all = work();
    std::memcpy(members, reinterpret_cast<const std::byte*>(&all) + head,
                std::min(size, sizeof all) - head);
  });
}

/// The same the other way round: what the caller gives, and 0 for members that it does not know.
template <class T>
T struct_of(const T* in, const char* argument) {
  static_assert(offsetof(T, struct_size) == 0 && std::is_trivially_copyable_v<T>);
  const std::size_t size = required(in, argument).struct_size;
  check_struct_size(size, argument);
  T all{};
  std::memcpy(&all, in, std::min(size, sizeof all));
  return all;
}

/// An element by its number. Throws Error(user) where there is none: "there is no text number 3;
/// the port 'x' has 2", with `what` and `whole` for its outer words.
template <class T>
const T& element_at(const std::vector<T>& elements, std::size_t index, std::string_view what,
                    std::string_view whole = "there are") {
  if (index >= elements.size()) refuse_number(index, elements.size(), what, whole);
  return elements[index];
}

/// The dtype of this number; nullopt where there is none.
std::optional<DType> find_dtype(dyn_dtype dtype) noexcept;
/// The same for what a caller gives: throws Error(user) where there is none.
DType dtype_of(dyn_dtype dtype);
dyn_dtype c_dtype(DType dtype) noexcept;

/// More axes than any tensor has: beyond them a rank is a mistake, and not read.
inline constexpr std::size_t most_axes = 64;
Shape shape_of(std::size_t rank, const std::int64_t* sizes);

}  // namespace dyn::c
