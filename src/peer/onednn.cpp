// oneDNN as a backend: which primitive an operator is.

#include "src/peer/onednn.hpp"

#include <utility>

#include <fmt/format.h>

namespace dyn::peer {
namespace {

class OneDnn : public Backend {
 public:
  OneDnn(Library library, int threads) : dnnl_(std::move(library), threads) {}

  std::string version() const override { return dnnl_.version(); }

  std::unique_ptr<Runner> prepare(const Problem& problem) override {
    if (problem.op == "matmul") return prepare_matmul(dnnl_, problem);
    throw Unsupported(fmt::format("no primitive of oneDNN stands for {} here", problem.op));
  }

 private:
  Dnnl dnnl_;
};

}  // namespace

std::unique_ptr<Backend> open_onednn(Library library, int threads) { return std::make_unique<OneDnn>(std::move(library), threads); }

}  // namespace dyn::peer
