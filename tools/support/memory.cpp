#include "support/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "support/failure.hpp"

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

MemoryBudget::MemoryBudget() : limit_(std::uint64_t{4} << 30) {
  if (const std::uint64_t physical = physical_memory(); physical != 0) limit_ = physical / 2;
}

MemoryBudget& memory_budget() noexcept {
  static MemoryBudget budget;
  return budget;
}

void refuse_memory(std::string_view bytes, std::string_view what) {
  const MemoryBudget& budget = memory_budget();
  throw FileError(
      fmt::format("wants {} bytes for {}, expected no more than {} (of the {} bytes of a run, which --memory changes)",
                  bytes, what, budget.left(), budget.limit()));
}

void Reservation::add(std::uint64_t bytes, std::string_view what) {
  MemoryBudget& budget = memory_budget();
  if (bytes > budget.left()) refuse_memory(fmt::format("{}", bytes), what);
  budget.used_ += bytes;
  bytes_ += bytes;
}

Memory::Memory(std::uint64_t bytes, std::string_view what) : reservation_(bytes, what), buffer_(bytes) {
  if (!buffer_.ok()) throw std::bad_alloc();
  const std::span<std::byte> all = buffer_.span();
  std::fill(all.begin(), all.end(), std::byte{0});
}

}  // namespace dmlref::tool
