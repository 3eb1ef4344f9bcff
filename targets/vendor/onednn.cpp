#include "targets/vendor/onednn.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "targets/vendor/product.hpp"

namespace dyn::vendor {
namespace {

struct Opened {
  std::shared_ptr<const OneDnn> library;
  std::string why_not;
};

Opened open_as_asked() {
  const char* file = ::secure_getenv("DYN_ONEDNN");
  const std::string name = file != nullptr ? file : "";
  if (name == "none") return {nullptr, "DYN_ONEDNN is none"};
  Opened opened;
  opened.library = OneDnn::open(
      name.empty() ? std::vector<std::string>{"libdnnl.so.3", "libdnnl.so.2"} : std::vector{name},
      opened.why_not);
  return opened;
}

}  // namespace

std::shared_ptr<const OneDnn> OneDnn::open(const std::vector<std::string>& files,
                                           std::string& why_not) {
  try {
    return std::make_shared<const OneDnn>(Library(files));
  } catch (const Unsupported& error) {
    why_not = error.what();
    return nullptr;
  }
}

std::shared_ptr<const OneDnn> OneDnn::of_process(std::string& why_not) {
  static const Opened opened = open_as_asked();
  why_not = opened.why_not;
  return opened.library;
}

OneDnn::OneDnn(Library library)
    : api_([&] {
        const Runtime runtime = runtime_of(library);
        if (runtime == Runtime::Sequential || runtime == Runtime::OpenMP)
          return Dnnl(std::move(library));
        throw Unsupported(
            fmt::format("{} is built for threads that cannot be kept to one", library.file()));
      }()) {
  if (api_.runtime() != Runtime::OpenMP) return;
  // Searched in the library's dependencies: the runtime that it uses, whichever others the process
  // has.
  set_threads_ = api_.library().function<void(int)>("omp_set_num_threads");
  most_threads_ = api_.library().function<int()>("omp_get_max_threads");
}

OneDnn::OneThread::OneThread(const OneDnn& library) : set_(library.set_threads_) {
  if (set_ == nullptr) return;
  before_ = library.most_threads_();
  if (before_ != 1) set_(1);
}

OneDnn::OneThread::~OneThread() {
  if (before_ != 1) set_(before_);
}

int OneDnn::panel_tag(std::int64_t panel) const {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = panel_tags_.emplace(panel, 0);
  if (is_new) place->second = find_panel_tag(panel);
  return place->second;
}

int OneDnn::find_panel_tag(std::int64_t panel) const {
  const int tag = api_.tag_named(fmt::format("BA16a{}b", panel).c_str());
  if (tag == 0) return 0;
  try {
    const Product probe(*this, {.m = 32,
                                .n = 2 * panel,
                                .k = 32,
                                .a_row = 32,
                                .a_k = 1,
                                .b_tag = tag,
                                .c_row = 2 * panel});
    return tag;
  } catch (const Unsupported&) { return 0; }
}

}  // namespace dyn::vendor
