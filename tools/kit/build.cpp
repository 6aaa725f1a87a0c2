#include "kit/build.hpp"

#include <algorithm>
#include <cctype>

#include "support/element.hpp"

namespace dmlref::tool::kit {

Json tensor(DataType type, const List& sizes, const List& strides) {
  Json json{{"DataType", to_string(type)}, {"Sizes", sizes}};
  if (!strides.empty()) json["Strides"] = strides;
  return json;
}

List strides_in_order(const List& sizes, const List& order) {
  List strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<std::size_t>(order[i]);
    strides[d] = step;
    step *= sizes[d];
  }
  return strides;
}

std::uint64_t spanned(const List& sizes, const List& strides) {
  std::int64_t product = 1;
  std::int64_t last = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    product *= sizes[d];
    if (!strides.empty()) last += (sizes[d] - 1) * strides[d];
  }
  return static_cast<std::uint64_t>(strides.empty() ? product : last + 1);
}

Random::Random(std::string_view seed) : state_(0xCBF29CE484222325u) {
  for (const char c : seed) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
}

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15u;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::int64_t Random::between(std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(most - least + 1));
}

std::vector<std::byte> plain_elements(DataType type, std::uint64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size_of(type));
  visit_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (is_real<T>) {
        const auto number = static_cast<std::int64_t>((i * 1021 + 7) % 2048) - 1024;  // exact in half
        store_element(bytes, i, static_cast<T>(static_cast<float>(number) / 8));
      } else {
        store_element(bytes, i, static_cast<T>(i * 0x9E3779B97F4A7C15u + 11));  // odd: all values of T in turn
      }
    }
  });
  return bytes;
}

std::vector<std::byte> random_bits(DataType type, std::uint64_t count, std::string_view seed) {
  Random random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size_of(type));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next() >> 56);
  // What random bits rarely are: -0, and a sign and the upper exponent alone.
  const auto set_top = [&](std::size_t i, unsigned top) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * size_of(type)), size_of(type), std::byte{0});
    bytes[(i + 1) * size_of(type) - 1] = static_cast<std::byte>(top);
  };
  for (std::size_t i = 0; i < count; i += 5) set_top(i, i % 2 == 0 ? 0x80 : 0xFC);
  return bytes;
}

std::vector<std::byte> real_elements(DataType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == DataType::float16) {
      store_element(bytes, i, half(static_cast<float>(values[i])));
    } else {
      store_element(bytes, i, static_cast<float>(values[i]));
    }
  }
  return bytes;
}

std::vector<std::byte> byte_elements(const std::vector<std::int64_t>& values) {
  std::vector<std::byte> bytes(values.size());
  std::transform(values.begin(), values.end(), bytes.begin(),
                 [](std::int64_t value) { return static_cast<std::byte>(value & 0xFF); });
  return bytes;
}

void CaseBuilder::add(const char* name, DataType type, const List& sizes, const List& strides,
                      std::vector<std::byte> bytes, bool owned) {
  one.desc[name] = tensor(type, sizes, strides);
  if (owned) one.desc[name]["Flags"] = "OWNED_BY_DML";
  if (!bytes.empty()) one.inputs.push_back({name, type, std::move(bytes), std::nullopt});
}

void CaseBuilder::add_bytes(const char* name, DataType type, const List& sizes, const List& strides, const List& given,
                            bool owned) {
  List values = given;
  values.resize(static_cast<std::size_t>(spanned(sizes, strides)), given.size() == 1 ? given[0] : 0);
  if (given.empty()) {
    for (std::int64_t& value : values)
      value = type == DataType::uint8 ? random.between(0, 255) : random.between(-128, 127);
  }
  add(name, type, sizes, strides, byte_elements(values), owned);
}

std::string lower(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<Case> all_cases(bool large) {
  std::vector<Case> cases;
  add_slices(cases);
  add_convolutions(cases);
  add_normalizations(cases);
  add_quantize_linear(cases);
  add_matrix_products(cases);
  add_refused(cases);
  if (large) add_large(cases);
  for (Case& one : cases) finish(one);
  return cases;
}

}  // namespace dmlref::tool::kit
