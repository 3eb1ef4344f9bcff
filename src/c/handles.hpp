#pragma once
// Handles of the C ABI: numbers in the form of pointers, which name objects of dyn. Whatever a
// caller passes in place of one is refused, as nothing is read at its address.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace dyn::c {

/// The kinds of objects that handles stand for.
enum class Kind : std::uint8_t {
  status,
  options,
  tensor,
  graph,
  port,
  shapes,
  call,
  session,
  device,
  stream,
  coder,
  texts,
  dims,
  metadata,
  kernels,
  cancellation,
  async_run,
  task,
  profile,
  builder,
  value
};
/// "graph"
std::string_view name_of(Kind kind) noexcept;

/// An object behind a handle.
struct Object {
  virtual ~Object() = default;
};

/// How many threads may be in functions on one handle at the same time.
enum class Users : std::uint8_t { many, one };

/// A use of a handle's object, which stays for so long, whoever releases the handle meanwhile.
class Use {
 public:
  /// Throws Error(user) where `handle` is none of this kind, was released, or has its one user.
  Use(Kind kind, const void* handle);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  Object& object() const noexcept { return *object_; }

 private:
  std::uint32_t index_;
  Object* object_;
};

/// Thread-safe. Throws Error(device) where there is no memory for one more.
void* add_handle(Kind kind, std::unique_ptr<Object> object, Users users);
/// The object goes with its last use. Does nothing where `handle` is none of this kind: there is
/// nobody to tell.
void release_handle(Kind kind, const void* handle) noexcept;
/// Handles that nobody has released, for tests.
std::size_t live_handles();

}  // namespace dyn::c
