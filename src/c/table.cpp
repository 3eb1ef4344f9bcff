// The table of all functions, for hosts that open the library at run time.

#include "dyn/dyn.h"
#include "dyn/version.hpp"

extern "C" {

const char* dyn_version(void) noexcept { return dyn::version(); }

const dyn_api* dyn_get_api(uint32_t version) noexcept {
#define DYN_ENTRY(name) &dyn_##name,
  static constexpr dyn_api table{DYN_API_VERSION, DYN_FUNCTIONS_1_0(DYN_ENTRY)};
#undef DYN_ENTRY
  const bool is_known = version >> 16 == DYN_API_MAJOR && version <= DYN_API_VERSION;
  return is_known ? &table : nullptr;
}

}  // extern "C"
