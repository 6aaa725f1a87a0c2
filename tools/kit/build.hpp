// build.hpp: what the tables of cases are built with: descriptors as JSON, and data that depends on nothing but itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "kit/case.hpp"

namespace dmlref::tool::kit {

/// { "DataType": …, "Sizes": …, "Strides": … }.
Json tensor(DataType type, const List& sizes, const List& strides = {});

/// Strides of a packed tensor whose dimensions lie in memory in `order`, outermost first: {0, 2, 3, 1} is NHWC.
List strides_in_order(const List& sizes, const List& order);

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Random numbers by integer arithmetic alone (splitmix64).
class Random {
 public:
  /// The seed is a text, so that a case's data does not depend on its place in a table.
  explicit Random(std::string_view seed);
  std::uint64_t next();
  /// From `least` to `most`.
  std::int64_t between(std::int64_t least, std::int64_t most);

 private:
  std::uint64_t state_;
};

/// Adds tensors to a case, and their buffers where they have one.
struct CaseBuilder {
  Case& one;
  Random random;

  /// No bytes: the tensor is an output.
  void add(const char* name, DataType type, const List& sizes, const List& strides, std::vector<std::byte> bytes,
           bool owned = false);
  /// INT8 or UINT8 elements: one value for all, all values, or random ones.
  void add_bytes(const char* name, DataType type, const List& sizes, const List& strides, const List& given,
                 bool owned = false);
};

/// Finite elements of any type, most of them different.
std::vector<std::byte> plain_elements(DataType type, std::uint64_t count);
/// Elements whose bits are random: NaN of all payloads among them.
std::vector<std::byte> random_bits(DataType type, std::uint64_t count, std::string_view seed);
/// FLOAT32 or FLOAT16 elements, rounded.
std::vector<std::byte> real_elements(DataType type, const std::vector<double>& values);
/// INT8 or UINT8 elements.
std::vector<std::byte> byte_elements(const std::vector<std::int64_t>& values);

/// "float32": the type's name as a part of a case's name.
std::string lower(std::string_view name);

// One file for each: appends its cases.
void add_slices(std::vector<Case>& cases);
void add_convolutions(std::vector<Case>& cases);
void add_normalizations(std::vector<Case>& cases);
void add_quantize_linear(std::vector<Case>& cases);
void add_matrix_products(std::vector<Case>& cases);
void add_refused(std::vector<Case>& cases);
void add_large(std::vector<Case>& cases);

/// Level, rules, output and tolerance of a case whose upper members are set; by the library's validator and reference.
void finish(Case& one);

}  // namespace dmlref::tool::kit
