#include "support/memory.hpp"

#include <fmt/format.h>

#include <cstring>

#if defined(_WIN32)
#define NOMINMAX 1
#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>
#else
#include <unistd.h>
#endif

namespace dmlref::tool {
namespace {

/// Bytes of physical memory; 0 where the system does not say.
std::uint64_t physical_memory() {
#if defined(_WIN32)
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return GlobalMemoryStatusEx(&status) != 0 ? status.ullTotalPhys : 0;
#else
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
#endif
}

}  // namespace

Memory::Memory(std::uint64_t bytes) : size_(static_cast<std::size_t>(bytes)) {
  if (bytes == 0) return;
  data_ = static_cast<std::byte*>(::operator new (size_, std::align_val_t{256}));
  std::memset(data_, 0, size_);
}

MemoryBudget::MemoryBudget() : limit_(std::uint64_t{4} << 30), left_(0) {
  if (const std::uint64_t physical = physical_memory(); physical != 0) limit_ = physical / 2;
  left_ = limit_;
}

std::optional<std::string> MemoryBudget::spend(std::uint64_t bytes) {
  if (bytes > left_) {
    return fmt::format(
        "wants {} bytes, expected no more than {} (of the {} bytes a model may use, half of this machine)", bytes,
        left_, limit_);
  }
  left_ -= bytes;
  return std::nullopt;
}

}  // namespace dmlref::tool
