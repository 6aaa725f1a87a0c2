// persistent_tag.hpp: what `initialize` writes before the data in the persistent memory, so that `execute` knows memory
// that was initialized for another operator, or not at all.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/schema/schema.hpp"
#include "dmlref/view/bind.hpp"

DMLREF_BEGIN
namespace detail {

/// 128 bits that depend on a desc, an instruction set and the layout of the persistent memory. Never on an address:
/// memory that was copied, or initialized by an equal operator, has the same tag.
class PersistentTag {
 public:
  /// Bytes at the start of the persistent memory. They are a cache line, so that what follows begins at one.
  static constexpr std::uint64_t bytes = 64;

  PersistentTag() = default;
  /// `strategy` and `persistent_bytes`, all of them, stand for the layout.
  template <class Desc>
  PersistentTag(const Desc& desc, Isa isa, std::string_view strategy, std::uint64_t persistent_bytes) noexcept {
    add(std::uint64_t{DMLREF_VERSION_MAJOR} << 32 | DMLREF_VERSION_MINOR << 16 | DMLREF_VERSION_PATCH);
    add(static_cast<std::uint64_t>(isa) << 1 | (std::endian::native == std::endian::little ? 1u : 0u));
    add(std::uint64_t{strategy.size()});
    for (const char c : strategy) add(std::uint64_t{static_cast<unsigned char>(c)});
    add(persistent_bytes);
    add_fields(desc);
  }

  void write(std::span<std::byte> persistent) const noexcept { std::memcpy(persistent.data(), words_, sizeof(words_)); }
  /// No memory is then initialized for an operator that has persistent memory.
  static void erase(std::span<std::byte> persistent) noexcept { std::memset(persistent.data(), 0, sizeof(words_)); }
  bool is_in(std::span<const std::byte> persistent) const noexcept {
    return std::memcmp(persistent.data(), words_, sizeof(words_)) == 0;
  }

 private:
  void add(std::uint64_t value) noexcept {
    words_[0] = mixed(words_[0] ^ value) + 0x9E3779B97F4A7C15u;
    words_[1] = mixed(words_[1] + value) ^ std::rotl(words_[0], 29);
  }
  static constexpr std::uint64_t mixed(std::uint64_t x) noexcept {  // SplitMix64's
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

  void add(float value) noexcept { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
  void add(bool value) noexcept { add(std::uint64_t{value}); }
  void add(std::uint32_t value) noexcept { add(std::uint64_t{value}); }
  template <class Number>
  DMLREF_NOINLINE void add(const std::vector<Number>& numbers) noexcept {
    add(std::uint64_t{numbers.size()});
    for (const Number number : numbers) add(static_cast<std::uint64_t>(number));
  }
  // Strides that are packed count as none; the alignment is a hint, which no layout follows.
  DMLREF_NOINLINE void add(const TensorDesc& tensor) noexcept {
    add(static_cast<std::uint64_t>(tensor.data_type) << 1 | (tensor.owned_by_dml ? 1u : 0u));
    add(tensor.sizes);
    for (const Index stride : layout_of(tensor).strides) add(static_cast<std::uint64_t>(stride));
    add(tensor.total_size_in_bytes);
  }
  void add(const std::optional<TensorDesc>& tensor) noexcept {
    add(tensor.has_value());
    if (tensor) add(*tensor);
  }
  void add(const std::optional<Activation>& activation) noexcept {
    const Activation of = activation.value_or(Activation{});
    add(static_cast<std::uint64_t>(of.type));
    for (const float parameter : of.parameters) add(parameter);
  }
  template <OneOperatorDesc Desc>
  DMLREF_NOINLINE void add_fields(const Desc& desc) noexcept {
    add(static_cast<std::uint64_t>(Schema<Desc>::info.type));
    schema::for_each_member(desc, [this](const FieldInfo&, const auto& member) { this->add(member); });
  }
  template <class... Descs>
  void add_fields(const std::variant<Descs...>& desc) noexcept {
    std::visit([this](const auto& d) { this->add_fields(d); }, desc);
  }

  std::uint64_t words_[2] = {};
};

}  // namespace detail
DMLREF_END
