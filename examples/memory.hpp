// memory.hpp: memory as persistent and temporary bytes need it: it starts at a multiple of 256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

class Memory {
 public:
  explicit Memory(std::uint64_t bytes = 0) : blocks_((bytes + 255) / 256) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(blocks_)); }

 private:
  struct alignas(256) Block {
    std::byte bytes[256];
  };
  std::vector<Block> blocks_;
};
