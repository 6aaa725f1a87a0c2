// option_values.hpp: the texts that options take, as values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/feature_level.hpp"
#include "dmlref/isa/cpu.hpp"

namespace dmlref::tool {

// Each throws Failure with the option's name, its text and what was expected.
FeatureLevel parse_level(const std::string& option, const std::string& text);
/// One that this CPU runs.
Isa parse_isa(const std::string& option, const std::string& text);
DataType parse_type(const std::string& option, const std::string& text);
unsigned parse_thread_count(const std::string& option, const std::string& text);
std::uint64_t parse_integer(const std::string& option, const std::string& text);
/// At least 0.
double parse_distance(const std::string& option, const std::string& text);
/// "1,3,4,4": at least one.
std::vector<std::uint64_t> parse_integers(const std::string& option, const std::string& text);

}  // namespace dmlref::tool
