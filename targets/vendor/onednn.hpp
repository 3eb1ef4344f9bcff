#pragma once
// oneDNN inside this process, kept to the calling thread.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "targets/vendor/onednn_api.hpp"

namespace dyn::vendor {

/// Thread-safe.
class OneDnn {
 public:
  /// The first of these files that can be opened; nullptr, with the reason in `why_not`, where
  /// there is none or its loops cannot be kept to one thread.
  static std::shared_ptr<const OneDnn> open(const std::vector<std::string>& files,
                                            std::string& why_not);
  /// The process's own, opened once: the file that the environment variable DYN_ONEDNN names
  /// ("none": none), or what the system's loader finds.
  static std::shared_ptr<const OneDnn> of_process(std::string& why_not);

  explicit OneDnn(Library library);

  const Dnnl& api() const noexcept { return api_; }
  const std::string& version() const noexcept { return api_.version(); }
  /// The tag of weights in panels of so many columns, K in multiples of 16; 0: only a slow
  /// primitive reads them.
  int panel_tag(std::int64_t panel) const;

  /// While it lives, the library's loops run on the calling thread alone: the number of threads is
  /// a setting of each thread.
  class OneThread {
   public:
    explicit OneThread(const OneDnn& library);
    ~OneThread();
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

   private:
    void (*set_)(int);
    int before_ = 1;
  };

 private:
  int find_panel_tag(std::int64_t panel) const;

  Dnnl api_;
  void (*set_threads_)(int) = nullptr;  ///< function of the OpenMP runtime that the library loaded;
                                        ///< nullptr: it is built without threads
  int (*most_threads_)() = nullptr;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, int> panel_tags_;
};

}  // namespace dyn::vendor
