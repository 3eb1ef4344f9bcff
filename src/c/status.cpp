// Statuses: what is left of an exception.

#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/c/guard.hpp"

namespace dyn::c {
namespace {

using StatusHandle = Handled<Kind::status, Error, Users::many>;

/// The status where there is no memory for one: an address, and so no handle.
alignas(16) const char no_memory_status = 0;
constexpr const char* no_memory_text = "no memory for this, nor for a status that says more";

dyn_status* no_memory() noexcept {
  return reinterpret_cast<dyn_status*>(const_cast<char*>(&no_memory_status));
}

/// `arguments`: those of an Error.
template <class... Arguments>
dyn_status* make_status(const Arguments&... arguments) noexcept {
  try {
    dyn_status* status = nullptr;
    make_handle<StatusHandle>(status, arguments...);
    return status;
  } catch (...) { return no_memory(); }
}

/// `read` of the error behind a status, which stays as long as the handle; `otherwise` for
/// success, and for what is no status.
template <class Result, class Read>
Result read_status(const dyn_status* status, Result otherwise, Result without_memory,
                   const Read& read) noexcept {
  if (status == nullptr) return otherwise;
  if (status == no_memory()) return without_memory;
  try {
    return read(*Used<StatusHandle>(status));
  } catch (...) { return otherwise; }
}

}  // namespace

dyn_status* status_of_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) { return make_status(error); } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& error) {
    return make_status(ErrorKind::internal, error.what());
  } catch (...) {
    return make_status(ErrorKind::user, "a function of the host threw what is no std::exception");
  }
}

void check_host(dyn_status* status, const char* function) {
  if (status == nullptr) return;
  if (status == no_memory()) throw std::bad_alloc();
  std::optional<Error> error;
  try {
    error = *Used<StatusHandle>(status);
  } catch (const Error&) {
    throw Error(ErrorKind::user, fmt::format("{} of the host gave what is no status", function));
  }
  release_handle(Kind::status, status);
  throw Error(*error);
}

}  // namespace dyn::c

using dyn::c::read_status;

extern "C" {

dyn_kind dyn_status_kind(const dyn_status* status) noexcept {
  return read_status<dyn_kind>(status, -1, DYN_ERROR_DEVICE, [](const dyn::Error& error) {
    return static_cast<dyn_kind>(error.kind());
  });
}

const char* dyn_kind_name(dyn_kind kind) noexcept {
  return kind >= DYN_ERROR_USER && kind <= DYN_ERROR_CANCELLED
             ? dyn::name_of(static_cast<dyn::ErrorKind>(kind)).data()
             : "unknown";
}

const char* dyn_status_message(const dyn_status* status) noexcept {
  return read_status<const char*>(status, "", dyn::c::no_memory_text,
                                  [](const dyn::Error& error) { return error.message().c_str(); });
}

size_t dyn_status_place_count(const dyn_status* status) noexcept {
  return read_status<size_t>(status, 0, 0,
                             [](const dyn::Error& error) { return error.where().size(); });
}

const char* dyn_status_place(const dyn_status* status, size_t index) noexcept {
  return read_status<const char*>(status, nullptr, nullptr, [&](const dyn::Error& error) {
    return index < error.where().size() ? error.where()[index].c_str() : nullptr;
  });
}

const char* dyn_status_text(const dyn_status* status) noexcept {
  return read_status<const char*>(status, "", dyn::c::no_memory_text,
                                  [](const dyn::Error& error) { return error.what(); });
}

dyn_status* dyn_status_create(dyn_kind kind, const char* message) noexcept {
  const bool is_kind = kind >= DYN_ERROR_USER && kind <= DYN_ERROR_CANCELLED;
  return dyn::c::make_status(is_kind ? static_cast<dyn::ErrorKind>(kind) : dyn::ErrorKind::user,
                             std::string(message == nullptr ? "" : message));
}

void dyn_status_release(dyn_status* status) noexcept {
  dyn::c::release_handle(dyn::c::Kind::status, status);
}

}  // extern "C"
