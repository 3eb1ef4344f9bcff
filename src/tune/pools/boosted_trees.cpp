#include "src/tune/pools/boosted_trees.hpp"

#include <limits>
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include "dyn/error.hpp"

namespace dyn::tune {
namespace {

void check(int result) {
  if (result != 0)
    throw Error(ErrorKind::internal, fmt::format("XGBoost failed: {}", XGBGetLastError()));
}

constexpr float missing = std::numeric_limits<float>::quiet_NaN();

/// Rows of features.
class Matrix {
 public:
  Matrix(std::span<const float> values, std::size_t rows) {
    check(XGDMatrixCreateFromMat(values.data(), rows, values.size() / rows, missing, &handle_));
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  DMatrixHandle handle() const noexcept { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

}  // namespace

struct BoostedTrees::Booster {
  explicit Booster(const Matrix& examples) {
    const DMatrixHandle handle = examples.handle();
    check(XGBoosterCreate(&handle, 1, &this->handle));
  }
  ~Booster() { XGBoosterFree(handle); }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  void set(const char* name, const std::string& value) const {
    check(XGBoosterSetParam(handle, name, value.c_str()));
  }

  BoosterHandle handle = nullptr;
};

BoostedTrees::BoostedTrees(const std::vector<std::vector<float>>& features,
                           std::span<const float> targets, const BoostedTreesSettings& settings) {
  std::vector<float> all;
  for (const std::vector<float>& row : features) all.insert(all.end(), row.begin(), row.end());
  const Matrix examples(all, features.size());
  check(XGDMatrixSetFloatInfo(examples.handle(), "label", targets.data(), targets.size()));
  auto booster = std::make_unique<Booster>(examples);
  const double mean =
      std::accumulate(targets.begin(), targets.end(), 0.0) / static_cast<double>(targets.size());
  booster->set("objective", "reg:squarederror");
  booster->set("base_score", fmt::format("{}", mean));  // what the first tree begins from
  booster->set("tree_method", "exact");
  booster->set("nthread", "1");
  booster->set("verbosity", "0");
  booster->set("max_depth", std::to_string(settings.depth));
  booster->set("eta", fmt::format("{}", settings.rate));
  for (int tree = 0; tree < settings.trees; ++tree)
    check(XGBoosterUpdateOneIter(booster->handle, tree, examples.handle()));
  booster_ = std::move(booster);
}

BoostedTrees::~BoostedTrees() = default;

double BoostedTrees::operator()(std::span<const float> features) const {
  const Matrix row(features, 1);
  bst_ulong count = 0;
  const float* values = nullptr;
  check(XGBoosterPredict(booster_->handle, row.handle(), 0, 0, 0, &count, &values));
  return values[0];
}

}  // namespace dyn::tune
