#pragma once
// Bugs planted in real kernels: edits of their device IR, one to a file of tests/mutants/gpu.
//
// A file has "key: value" lines; "#" begins a comment. First `kernel` (a name of
// planted_kernels()), `breaks` (what is wrong with it) and `report` (name_of() the fault that the
// emulator must report, or "wrong result" where every rule of the machine is kept). Then one or
// more edits, each of lines of the module's text:
//   after: REGEX        the search begins below the first line that matches; several go further
//   down, one after another before: REGEX       the search goes up from the next line that matches
//   occurrence: N|all   of the lines that `find` matches; 1 where it is not given
//   find: REGEX         the line; POSIX extended
//   replace: TEXT       for what `find` has matched: \1 to \9 are its groups, \n begins a line.
//   Ends the edit delete: REGEX       find and replace in one: the whole line goes. Ends the edit
// Values of the IR have numbers that change with the emitters, so edits go by labels, operations
// and the form of an instruction. LLVM's parser does not mind gaps between numbers.

#include <optional>
#include <string>
#include <vector>

#include "targets/ptx/emulator/emulator.hpp"

namespace dyn::test {

struct PlantedEdit {
  std::vector<std::string> after;
  std::string before, find;
  std::optional<std::string> replacement;  ///< none: the line is deleted
  int occurrence = 1;                      ///< 0: all
};

struct PlantedBug {
  std::string name;  ///< of the file, without its suffix
  std::string kernel, breaks;
  std::optional<ptx::Fault> fault;  ///< none: a wrong result
  std::vector<PlantedEdit> edits;
};

/// All files, by name. Throws std::runtime_error, naming the file and line, for what it cannot
/// read.
std::vector<PlantedBug> planted_bugs();

/// The module's text with the bug in it. Throws std::runtime_error where an edit finds nothing.
std::string plant(const PlantedBug& bug, const std::string& module_text);

}  // namespace dyn::test
