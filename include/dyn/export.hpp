#pragma once
// What a shared libdyn shows: everything else, LLVM included, is hidden.

#if defined(__GNUC__)
#define DYN_API __attribute__((visibility("default")))
#else
#define DYN_API
#endif
