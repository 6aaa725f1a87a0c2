// case.hpp: a case of the conformance kit: an operator, its inputs, and what must come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/feature_level.hpp"

namespace dmlref::tool::kit {

/// Keys stay in the order in which they are written.
using Json = nlohmann::ordered_json;
/// Sizes, strides, offsets; only window strides are negative.
using List = std::vector<std::int64_t>;

/// What a buffer holds that is too large for a file: start, start + delta, … as DxDispatch counts.
struct Sequence {
  std::uint64_t count = 0;
  std::int64_t start = 0;
  std::int64_t delta = 0;
};

/// A tensor's buffer.
struct Input {
  std::string tensor;  ///< the desc's member: "InputTensor"
  DataType type = DataType::unknown;
  std::vector<std::byte> bytes;
  std::optional<Sequence> sequence;  ///< instead of bytes
};

/// How near a result must be. An element passes where it is within either distance.
struct Tolerance {
  bool bits = false;      ///< all bits must agree: payloads of NaN, the sign of 0
  double absolute = 0;    ///< of the expected value
  std::uint64_t ulp = 0;  ///< steps from one representable value to the next; of integers the difference
  std::string source;     ///< why so much
};

/// Who says what a case expects.
enum class SourceKind {
  documented,  ///< a document of Microsoft's
  reading,     ///< the library, where the documents are silent
};
constexpr std::string_view name_of(SourceKind kind) {
  return kind == SourceKind::documented ? "documented" : "reading";
}

struct Output {
  DataType type = DataType::unknown;
  List sizes;
  List strides;                  ///< empty: packed
  std::vector<std::byte> bytes;  ///< as DxDispatch writes the buffer: a multiple of four bytes
};

struct Case {
  std::string name;
  std::string op;  ///< without DML_OPERATOR_
  Json desc;       ///< the members of the operator's struct
  std::vector<Input> inputs;
  std::string kind;      ///< the kind of fault that it is for
  std::string property;  ///< what must hold
  std::string source;    ///< the document that says so; begins with "reading" where none does

  SourceKind source_kind() const {
    return source.starts_with("reading") ? SourceKind::reading : SourceKind::documented;
  }

  // What follows is computed by finish().
  std::optional<FeatureLevel> accepted_from;  ///< empty: no level accepts the descriptor
  std::vector<std::string> rules;             ///< broken at the level below, or at every level
  Output output;                              ///< of what is accepted
  Tolerance tolerance;
};

/// All cases in a fixed order, the same on every machine. `large` adds those whose buffers reach 2^32 bytes.
std::vector<Case> all_cases(bool large);

/// What the output's resource holds before the operator runs.
inline constexpr float output_filler = 99;
/// The file that a model writes.
inline constexpr const char* output_file = "output.npy";

/// Number of elements that sizes and strides span; strides may be empty.
std::uint64_t spanned(const List& sizes, const List& strides);

}  // namespace dmlref::tool::kit
