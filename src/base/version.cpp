#include "dyn/version.hpp"

#define DYN_TEXT_OF(x) #x
#define DYN_TEXT(x) DYN_TEXT_OF(x)

namespace dyn {

const char* version() noexcept {
  return DYN_TEXT(DYN_VERSION_MAJOR) "." DYN_TEXT(DYN_VERSION_MINOR) "." DYN_TEXT(
      DYN_VERSION_PATCH);
}

}  // namespace dyn
