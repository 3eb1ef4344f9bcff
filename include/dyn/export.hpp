#pragma once
// A shared libdyn shows what is marked so; everything else, LLVM included, is hidden.

#if defined(__GNUC__)
#define DYN_API __attribute__((visibility("default")))
#else
#define DYN_API
#endif
