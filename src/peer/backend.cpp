#include "src/peer/backend.hpp"

#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace dyn::peer {
namespace {

const std::map<std::string, std::vector<std::string>> known_files = {
    {"onednn", {"libdnnl.so.3", "libdnnl.so.2"}},
    {"openblas", {"libopenblas.so.0"}},
    {"blis", {"libblis.so.4", "libblis.so.5", "libblis.so.3"}},
    {"mkl", {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so"}},
};

}  // namespace

std::unique_ptr<Backend> open_backend(const std::string& library, int threads) {
  const auto known = known_files.find(library);
  Library opened(known != known_files.end() ? known->second : std::vector<std::string>{library});
  if (opened.has("dnnl_version")) return open_onednn(std::move(opened), threads);
  if (opened.has("cblas_sgemm")) return open_blas(std::move(opened), threads);
  throw Unsupported(fmt::format("{} is neither oneDNN nor a CBLAS", opened.file()));
}

}  // namespace dyn::peer
