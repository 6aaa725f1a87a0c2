// print.hpp: reports and enumerations on streams.
#pragma once

#include <concepts>
#include <iosfwd>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/feature_level.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/validate/report.hpp"

DMLREF_BEGIN

// Each needs `<ostream>` where it is called.

/// All lines of the report; "ok" where there is no violation.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Report& report) {
  return out << report.to_string();
}
/// One line.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Violation& violation) {
  return out << to_string(violation);
}
/// The name: "6_4", "FLOAT32", "avx2", "tensor_rank".
template <class Traits, class Enum>
requires std::same_as<Enum, FeatureLevel> || std::same_as<Enum, DataType> || std::same_as<Enum, Isa> ||
    std::same_as<Enum, RuleId>
        std::basic_ostream<char, Traits>
&operator<<(std::basic_ostream<char, Traits>& out, Enum value) { return out << to_string(value); }

DMLREF_END
