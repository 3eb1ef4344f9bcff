#pragma once
// Imports an ONNX file, and checks the errors for broken ones.

#include <functional>
#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/onnx_file.hpp"

namespace dyn::testing {

struct Folder {
  TemporaryFolder folder;
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
};

/// The statements of its text; checks that reading the whole again gives the same text.
std::string statements_of(const OnnxFile& file);

/// Checks kind and message of the error that the import throws, after `edit` has changed the file
/// with this path.
void check_error(const OnnxFile& file, ErrorKind kind, const std::vector<std::string>& parts,
                 const std::function<void(const std::string&)>& edit = {});

/// The same for a strict import, which does not leave out what nothing reads.
void check_strict_error(const OnnxFile& file, ErrorKind kind,
                        const std::vector<std::string>& parts);

/// f32 x[N, 4] -> y.
OnnxFile one_node(const std::string& op, int opset = 20);

}  // namespace dyn::testing
