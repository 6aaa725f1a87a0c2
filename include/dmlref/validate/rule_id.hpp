// rule_id.hpp: every rule's identity. The rules' conditions stand in validate/<operator>.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dmlref/config.hpp"

DMLREF_BEGIN

enum class RuleId : std::uint16_t {
  // Binding
  binding_count,
  buffer_missing,
  buffer_too_small,
  buffer_unexpected,
  buffer_owned_by_dml,
  buffer_overlap,
  buffer_misaligned,
  out_of_memory,
  not_compiled,
  // Instruction sets
  isa_unknown,
  isa_unsupported,
};

struct RuleInfo {
  RuleId id;
  std::string_view name;
  std::string_view condition;  ///< what must hold
  std::string_view source;     ///< the document that says so
};

inline constexpr std::array<RuleInfo, 11> rule_table{{
    {RuleId::binding_count, "binding_count", "one buffer per tensor of the desc, absent ones empty", "contract"},
    {RuleId::buffer_missing, "buffer_missing", "a tensor that is present has a buffer", "contract"},
    {RuleId::buffer_too_small, "buffer_too_small", "a buffer holds its TotalTensorSizeInBytes", "contract"},
    {RuleId::buffer_unexpected, "buffer_unexpected", "an absent tensor has no buffer", "contract"},
    {RuleId::buffer_owned_by_dml, "buffer_owned_by_dml", "owned tensors at initialize, the rest at execute",
     "contract"},
    {RuleId::buffer_overlap, "buffer_overlap", "what is written overlaps nothing else", "contract"},
    {RuleId::buffer_misaligned, "buffer_misaligned", "persistent and temporary memory start at a multiple of 256",
     "contract"},
    {RuleId::out_of_memory, "out_of_memory", "run can allocate the persistent and temporary memory", "contract"},
    {RuleId::not_compiled, "not_compiled", "only a compiled operator runs", "contract"},
    {RuleId::isa_unknown, "isa_unknown", "an instruction set's name is known", "contract"},
    {RuleId::isa_unsupported, "isa_unsupported", "the CPU runs the instruction set asked for", "contract"},
}};

/// The rule's name, e.g. "buffer_too_small".
constexpr std::string_view to_string(RuleId id) noexcept {
  for (const RuleInfo& row : rule_table) {
    if (row.id == id) return row.name;
  }
  return "unknown";
}

DMLREF_END
