#include "src/rkernel/tree/regions.hpp"

namespace dyn::rkernel {
namespace {

/// The four quarters that one cut along each axis makes, and strips of them.
class Cover {
 public:
  Cover(std::int64_t m, std::int64_t n) : m_(m), n_(n) {}

  void add(std::int64_t m0, std::int64_t m_end, std::int64_t n0, std::int64_t n_end) {
    if (m_end > m0 && n_end > n0) regions_.push_back({m0, m_end - m0, n0, n_end - n0, {}});
  }
  void add_rows(std::int64_t m0, std::int64_t m_end) { add(m0, m_end, 0, n_); }
  void add_rows_cut(std::int64_t m0, std::int64_t m_end, std::int64_t n_cut) {
    add(m0, m_end, 0, n_cut);
    add(m0, m_end, n_cut, n_);
  }
  std::vector<Region> take() {
    if (regions_.empty()) regions_.push_back({0, m_, 0, n_, {}});
    return std::move(regions_);
  }

 private:
  std::int64_t m_, n_;
  std::vector<Region> regions_;
};

}  // namespace

std::string_view name_of(Pattern pattern) {
  constexpr std::array<std::string_view, all_patterns.size()> names{"I",  "II",  "III",  "IV", "V",
                                                                    "VI", "VII", "VIII", "IX"};
  return names[static_cast<std::size_t>(pattern)];
}

std::vector<Region> cover(Pattern pattern, std::int64_t m, std::int64_t n, const Cuts& cuts) {
  Cover regions(m, n);
  switch (pattern) {
    case Pattern::I: regions.add_rows(0, m); break;
    case Pattern::II:
      regions.add_rows(0, cuts.m);
      regions.add_rows(cuts.m, m);
      break;
    case Pattern::III: regions.add_rows_cut(0, m, cuts.n); break;
    case Pattern::IV:
      regions.add_rows(0, cuts.m);
      regions.add_rows_cut(cuts.m, m, cuts.n);
      break;
    case Pattern::V:
      regions.add_rows_cut(0, cuts.m, cuts.n);
      regions.add_rows(cuts.m, m);
      break;
    case Pattern::VI:
      regions.add(0, m, 0, cuts.n);
      regions.add(0, cuts.m, cuts.n, n);
      regions.add(cuts.m, m, cuts.n, n);
      break;
    case Pattern::VII:
      regions.add(0, cuts.m, 0, cuts.n);
      regions.add(cuts.m, m, 0, cuts.n);
      regions.add(0, m, cuts.n, n);
      break;
    case Pattern::VIII:
      regions.add_rows_cut(0, cuts.m, cuts.n);
      regions.add_rows_cut(cuts.m, m, cuts.n);
      break;
    case Pattern::IX:
      regions.add_rows(0, cuts.m);
      regions.add_rows(cuts.m, cuts.second_m);
      regions.add_rows(cuts.second_m, m);
      break;
  }
  return regions.take();
}

}  // namespace dyn::rkernel
