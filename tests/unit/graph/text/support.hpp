#pragma once
// The tests of the text IR share these.

#include <string>
#include <string_view>
#include <vector>

namespace dyn::test {

/// The bytes of a file of the repository; fails the test where it cannot be read.
std::string read_source(const std::string& path);

/// Compares with a file of the repository, or rewrites the file where DYN_UPDATE_GOLDEN=1.
void check_golden(const std::string& path, const std::string& text);

/// Paths, relative to the repository, of the files with that ending in a folder; sorted.
std::vector<std::string> list_sources(const std::string& folder, const std::string& ending);

/// All models of the examples and the tests.
std::vector<std::string> model_paths();

/// The message of the dyn::Error that parsing throws, "" where it throws none.
std::string error_of(std::string_view text);

/// A whole file around the statements of a graph with inputs x, y: f32[B, S], ids: i64[B, S] and
/// output r.
std::string model(std::string_view statements, std::string_view output = "f32[B, S]");

}  // namespace dyn::test
