#pragma once
// Shared by the runtime's tests.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "dyn/options.hpp"

namespace dyn::testing {

/// The error that `body` throws; a failed check where it throws none.
inline std::optional<Error> error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) { return error; }
  FAIL_CHECK("no error was thrown");
  return std::nullopt;
}

/// Checks that `body` throws an error of this kind whose text has every one of `parts`.
template <class... Parts>
void check_error(ErrorKind kind, const std::function<void()>& body, const Parts&... parts) {
  const auto error = error_of(body);
  if (!error) return;
  const std::string text = std::string(error->what()).substr(0, 1000);
  CAPTURE(text);
  CHECK(name_of(error->kind()) == name_of(kind));
  for (const std::string& part : {std::string(parts)...}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

/// Nothing is read from or written to a cache directory.
inline Options uncached(int threads = 2, const std::string& device = "cpu") {
  Options options;
  options.cache_dir = "none";
  options.threads = threads;
  options.device = device;
  return options;
}

/// Of this process's memory.
inline std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Random floats in [-0.9, 1.1): not symmetric, so that sums grow and a lost sign shows.
inline std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 2000) / 1000 - 0.9f;
  return values;
}

/// A file of safetensors: header length, header, data.
inline std::string safetensors_file(const std::string& header, const std::string& data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return file + header + data;
}

}  // namespace dyn::testing
