#pragma once
// All programs of a problem at one shape, for tuners: far more than policies look at.

#include <cstdint>
#include <string>
#include <vector>

#include "src/rkernel/target/target.hpp"

namespace dyn::rkernel {

/// Points of a discrete space. Not thread-safe; its kernel must outlive it.
class ProgramSpace {
 public:
  struct Axis {
    std::string name;
    std::vector<std::int64_t> values;  ///< distinct, at least one
    bool ordered = true;  ///< neighbours are alike; else any two values are equally far
  };
  using Point = std::vector<std::int64_t>;  ///< a value of each axis

  virtual ~ProgramSpace() = default;
  virtual const std::vector<Axis>& axes() const = 0;
  /// The point stands for a program that there is code for. Different such points may stand for
  /// one program.
  virtual bool allows(const Point& point) const = 0;
  /// Of allowed points: the program keeps within the machine's memories, and is not predicted to be
  /// hopeless.
  virtual bool fits(const Point& point) const = 0;
  /// Of allowed points: how many preferences the program does not meet, such as full tiles.
  virtual double unmet(const Point& point) const = 0;
  /// Points to begin with: the programs that policy Dyn considers, best predicted first, as far as
  /// the axes have them.
  virtual std::vector<Point> seeds() const = 0;
  /// The program of an allowed point, with its model_input.
  virtual Candidate program(const Point& point) const = 0;
};

}  // namespace dyn::rkernel
