// failure.hpp: why the model or the command line cannot be used; ends the program with exit status 2.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dmlref::tool {

enum ExitStatus { exit_done = 0, exit_failed = 1, exit_unusable = 2 };

/// A line for each fault: where (file, JSON path), what is there, what was expected.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& line) : Failure(std::vector<std::string>{line}) {}
  Failure(const std::string& where, const std::string& what) : Failure(where + ": " + what) {}
  /// At least one line.
  explicit Failure(std::vector<std::string> lines) : std::runtime_error(lines.front()), lines_(std::move(lines)) {}

  std::span<const std::string> lines() const noexcept { return lines_; }

 private:
  std::vector<std::string> lines_;
};

/// Failures that belong together are thrown together; of very many the first are kept.
class Faults {
 public:
  /// Does `part` and keeps what it fails with.
  template <class Part>
  void collect(Part&& part) {
    try {
      part();
    } catch (const Failure& failure) {
      add(failure);
    }
  }
  /// The same. Whether it did not fail.
  template <class Part>
  bool holds(Part&& part) {
    const std::size_t before = lines_.size() + more_;
    collect(part);
    return lines_.size() + more_ == before;
  }
  void add(const Failure& failure) {
    for (const std::string& line : failure.lines()) {
      if (lines_.size() < most) {
        lines_.push_back(line);
      } else {
        ++more_;
      }
    }
  }
  bool empty() const noexcept { return lines_.empty(); }
  /// Throws what was kept, where there is any: the first lines of very many.
  void raise() {
    if (lines_.empty()) return;
    if (more_ != 0) lines_.push_back("and " + std::to_string(more_) + " faults more");
    throw Failure(std::move(lines_));
  }

 private:
  static constexpr std::size_t most = 50;
  std::vector<std::string> lines_;
  std::size_t more_ = 0;
};

/// Something wrong with a file's content; whoever opened it adds where the model names it.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dmlref::tool
