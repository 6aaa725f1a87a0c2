// failure.hpp: why the model or the command line cannot be used; ends the program with exit status 2.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace dmlref::tool {

enum ExitStatus { exit_done = 0, exit_failed = 1, exit_unusable = 2 };

/// One line: where (file, JSON path), what is there, what was expected.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& line) : std::runtime_error(line) {}
  Failure(const std::string& where, const std::string& what) : std::runtime_error(where + ": " + what) {}
};

/// Something wrong with a file's content; whoever opened it adds where the model names it.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dmlref::tool
