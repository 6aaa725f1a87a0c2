// memory_file.hpp: bytes as a file that has a name, for readers that open files.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace dmlref_test {

class MemoryFile {
 public:
  MemoryFile(const void* data, std::size_t size) : file_(::memfd_create("input", 0)) {
    if (file_ >= 0 && ::write(file_, data, size) == static_cast<ssize_t>(size)) return;
    std::perror("a file in memory");
    std::_Exit(3);
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace dmlref_test
