#pragma once
// The one exception type that leaves the library.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/export.hpp"

namespace dyn {

/// Says whose problem an error is. user: a wrong argument or input; model: a broken or inconsistent
/// model or weight file; unsupported: valid, but not something that this build or machine can do;
/// device: the machine failed (memory, files, driver); internal: a defect of dyn; cancelled:
/// nobody's, the host wanted the end (dyn/control.hpp).
enum class ErrorKind { user, model, unsupported, device, internal, cancelled };

DYN_API std::string_view name_of(ErrorKind kind) noexcept;

/// Thrown by every public function that can fail. `what()` is the whole text: the message, then one
/// line "  in ..." for each entry of `where()`, innermost first.
class DYN_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string message, std::vector<std::string> where = {});

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& message() const noexcept { return message_; }
  const std::vector<std::string>& where() const noexcept { return where_; }

  /// The same error with one more place, outer than all others.
  Error within(std::string place) const;

 private:
  ErrorKind kind_;
  std::string message_;
  std::vector<std::string> where_;
};

}  // namespace dyn
