#include "src/runtime/load/fallback_target.hpp"

#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::runtime {
namespace {

rkernel::Prepared checked(const rkernel::Target& target, rkernel::Prepared prepared,
                          std::size_t problems) {
  if (prepared.kernels.size() == problems && prepared.problems.size() == problems) return prepared;
  throw Error(ErrorKind::internal, fmt::format("target {} made {} kernels for {} groups",
                                               target.name(), prepared.kernels.size(), problems));
}

void add(rkernel::CompileReport& sum, const rkernel::CompileReport& part) {
  sum.kernels += part.kernels;
  sum.compiled += part.compiled;
  sum.from_memory += part.from_memory;
  sum.from_disk += part.from_disk;
  sum.compile_seconds += part.compile_seconds;
  sum.measure_seconds += part.measure_seconds;
  sum.machine_seconds += part.machine_seconds;
}

class FallbackTarget final : public rkernel::Target {
 public:
  FallbackTarget(std::shared_ptr<rkernel::Target> device_target,
                 std::function<std::shared_ptr<rkernel::Target>()> make_host)
      : first_(std::move(device_target)), make_host_(std::move(make_host)) {}

  std::string name() const override { return first_->name(); }
  /// The host fuses all that a device refuses.
  bool fuses_attention() const override { return first_->fuses_attention(); }
  std::int64_t most_attention_depth() const override { return first_->most_attention_depth(); }
  graph::FuseOptions fuse_options() const override { return first_->fuse_options(); }
  bool bundles(const rkernel::Problem& problem) const override { return first_->bundles(problem); }
  /// Every host contracts u8 by i8.
  DType integer_factor() const override { return first_->integer_factor(); }

  rkernel::Prepared prepare(std::vector<rkernel::Problem> problems,
                            const rkernel::BufferFacts& buffers) override {
    const std::size_t count = problems.size();
    rkernel::Prepared prepared =
        checked(*first_, first_->prepare(std::move(problems), buffers), count);
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < count; ++i) {
      if (prepared.kernels[i] == nullptr) left.push_back(i);
    }
    return left.empty() ? std::move(prepared) : with_host(std::move(prepared), left, buffers);
  }

  std::vector<const void*> load(std::span<const void* const> functions) const override {
    return first_->load(functions);
  }
  std::shared_ptr<rkernel::Device> device() const override { return first_->device(); }
  std::int64_t functions_compiled() const override {
    return first_->functions_compiled() + (host_ ? host_->functions_compiled() : 0);
  }
  std::int64_t panel_width(DType dtype) const override { return host().panel_width(dtype); }
  std::int64_t packed_rows(DType dtype, std::int64_t k, std::int64_t n) const override {
    return host().packed_rows(dtype, k, n);
  }
  std::string packing() const override { return host_ ? host_->packing() : std::string(); }
  void pack(const rkernel::PackedLayout& layout, const rkernel::MatrixElements& source,
            std::int64_t first_panel, std::int64_t last_panel, void* destination) const override {
    host().pack(layout, source, first_panel, last_panel, destination);
  }
  void pack_codes(const rkernel::PackedLayout& layout, const rkernel::CodedColumns& columns,
                  std::int64_t first_panel, std::int64_t last_panel,
                  void* destination) const override {
    host().pack_codes(layout, columns, first_panel, last_panel, destination);
  }

 private:
  /// The same with kernels of the host for the problems that are `left`.
  rkernel::Prepared with_host(rkernel::Prepared prepared, const std::vector<std::size_t>& left,
                              const rkernel::BufferFacts& buffers) {
    if (!host_) host_ = make_host_();
    std::vector<rkernel::Problem> own;
    for (const std::size_t i : left) own.push_back(prepared.problems[i]);
    rkernel::Prepared made = checked(*host_, host_->prepare(std::move(own), buffers), left.size());
    add(prepared.report, made.report);
    for (std::size_t i = 0; i < left.size(); ++i) {
      prepared.problems[left[i]] = std::move(made.problems[i]);
      prepared.kernels[left[i]] = std::move(made.kernels[i]);
    }
    return prepared;
  }

  const rkernel::Target& host() const {
    if (!host_) throw Error(ErrorKind::internal, "packed weights, but no group on the host");
    return *host_;
  }

  std::shared_ptr<rkernel::Target> first_, host_;
  std::function<std::shared_ptr<rkernel::Target>()> make_host_;
};

}  // namespace

std::shared_ptr<rkernel::Target> with_fallback(
    std::shared_ptr<rkernel::Target> device_target,
    std::function<std::shared_ptr<rkernel::Target>()> make_host) {
  return std::make_shared<FallbackTarget>(std::move(device_target), std::move(make_host));
}

}  // namespace dyn::runtime
