// A host of libraries, each with one function: host FOLDER LIBRARY=FUNCTION... opens them in this
// order, for everybody to see (RTLD_GLOBAL), and calls the functions in turn. Linked with libraries
// (DYN_LINKED) it calls theirs.

#include <cstdio>
#include <string>
#include <vector>

#include <dlfcn.h>

using Function = int (*)(const char*);

#ifdef DYN_LINKED
extern "C" int use_dyn(const char*);
extern "C" int use_others(const char*);
#endif

int main(int argc, char** argv) {
  std::vector<Function> functions;
#ifdef DYN_LINKED
  functions = {use_dyn, use_others};
#endif
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t at = word.find('=');
    void* const library = dlopen(word.substr(0, at).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    functions.push_back(reinterpret_cast<Function>(dlsym(library, word.substr(at + 1).c_str())));
    // Before the next library comes.
    if (const int code = functions.back()(argv[1]); code != 0)
      return std::fprintf(stderr, "%s: %d\n", argv[i], code), 2;
  }
  for (int round = 0; round < 2; ++round) {
    for (const Function function : functions) {
      if (const int code = function(argv[1]); code != 0)
        return std::fprintf(stderr, "in round %d: %d\n", round, code), 3;
    }
  }
  return 0;
}
