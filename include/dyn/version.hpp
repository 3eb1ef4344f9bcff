#pragma once
// The library's version.

#include "dyn/export.hpp"

#define DYN_VERSION_MAJOR 0
#define DYN_VERSION_MINOR 1
#define DYN_VERSION_PATCH 0
/// One comparable number: major * 10000 + minor * 100 + patch.
#define DYN_VERSION (DYN_VERSION_MAJOR * 10000 + DYN_VERSION_MINOR * 100 + DYN_VERSION_PATCH)

namespace dyn {

/// "0.1.0", of the library that is linked, which may differ from the header's macro.
DYN_API const char* version() noexcept;

}  // namespace dyn
