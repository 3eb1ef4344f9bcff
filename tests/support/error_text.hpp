#pragma once
// What errors say, as whoever reads one sees it.

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "dyn/error.hpp"

namespace dyn::testing {

/// The dyn::Error that `work` throws, with its places; empty where it throws none.
template <class Work>
std::string error_text(const Work& work) {
  try {
    work();
  } catch (const Error& error) { return error.what(); }
  return "";
}

inline void check_says(const std::string& error, std::initializer_list<const char*> parts) {
  INFO(error);
  for (const char* part : parts) {
    INFO(std::string(part));
    CHECK(error.find(part) != std::string::npos);
  }
}

}  // namespace dyn::testing
