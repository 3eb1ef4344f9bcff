#pragma once
// A shared libdyn shows what is marked so; everything else, LLVM included, is hidden.

#if defined(__GNUC__)
#define DYN_API __attribute__((visibility("default")))
#define DYN_INTERNAL __attribute__((visibility("hidden")))  ///< of a member that only dyn calls
#else
#define DYN_API
#define DYN_INTERNAL
#endif
