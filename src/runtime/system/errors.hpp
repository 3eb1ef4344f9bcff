#pragma once
// The errors that are thrown from many places: what a caller asks for cannot be, or what a model
// has.

#include <string>

#include "dyn/error.hpp"

namespace dyn::runtime {

[[noreturn]] inline void user_error(const std::string& message) {
  throw Error(ErrorKind::user, message);
}
[[noreturn]] inline void model_error(const std::string& message) {
  throw Error(ErrorKind::model, message);
}

}  // namespace dyn::runtime
