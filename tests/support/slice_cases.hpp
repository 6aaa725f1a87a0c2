// slice_cases.hpp: random SLICE and SLICE1 descriptors with their data and the bytes that must come out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dmlref/run/run.hpp"

namespace dmlref_test {

/// The slice in an OperatorDesc; any other operator has none here.
inline const dmlref::SliceDesc& pick(const dmlref::SliceDesc& d) { return d; }
inline const dmlref::Slice1Desc& pick(const dmlref::Slice1Desc& d) { return d; }
template <class Other>
const dmlref::SliceDesc& pick(const Other&) {
  static const dmlref::SliceDesc none;
  return none;
}

struct SliceCase {
  dmlref::OperatorDesc desc;
  std::size_t element_size = 0;
  std::vector<std::byte> input;
  std::vector<std::byte> before;    // what the output memory holds before the call
  std::vector<std::byte> expected;  // what it must hold after

  const dmlref::TensorDesc& input_desc() const {
    return std::visit([](const auto& d) -> const dmlref::TensorDesc& { return pick(d).input; }, desc);
  }
  const dmlref::TensorDesc& output_desc() const {
    return std::visit([](const auto& d) -> const dmlref::TensorDesc& { return pick(d).output; }, desc);
  }
};

/// What a generator may vary. Zero: random.
struct SliceLimits {
  std::size_t rank = 0;
  std::size_t element_size = 0;
  std::uint64_t elements = 2000;     // of the output, at most
  std::uint64_t spanned = 1u << 18;  // of either tensor's memory, in elements
};

namespace detail {

using Random = std::mt19937_64;

inline std::uint32_t number(Random& random, std::uint32_t low, std::uint32_t high) {
  return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
}

inline dmlref::DataType type_of_size(Random& random, std::size_t size) {
  using dmlref::DataType;
  static constexpr DataType types[4][3] = {{DataType::uint8, DataType::int8, DataType::uint8},
                                           {DataType::float16, DataType::uint16, DataType::int16},
                                           {DataType::float32, DataType::uint32, DataType::int32},
                                           {DataType::float64, DataType::uint64, DataType::int64}};
  const std::size_t row = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
  return types[row][number(random, 0, 2)];
}

/// Strides under which no two elements share memory: packed, in another order of dimensions, and possibly padded.
inline dmlref::Dimensions separate_strides(Random& random, const dmlref::Dimensions& sizes, bool permute, bool pad) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (permute) std::shuffle(order.begin(), order.end(), random);
  dmlref::Dimensions strides(sizes.size());
  std::uint32_t step = pad && number(random, 0, 3) == 0 ? number(random, 2, 4) : 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= sizes[order[i]];
    if (pad && number(random, 0, 1) == 0) step += number(random, 1, 5);
  }
  return strides;
}

inline dmlref::TensorDesc random_tensor(Random& random, dmlref::DataType type, const dmlref::Dimensions& sizes,
                                        bool is_input) {
  switch (number(random, 0, is_input ? 9 : 7)) {
    case 0:
    case 1:
    case 2: return dmlref::TensorDesc(type, sizes);
    case 3: return dmlref::TensorDesc(type, sizes, separate_strides(random, sizes, false, false));
    case 4: return dmlref::TensorDesc(type, sizes, separate_strides(random, sizes, true, false));
    case 5:
    case 6: return dmlref::TensorDesc(type, sizes, separate_strides(random, sizes, false, true));
    case 7: return dmlref::TensorDesc(type, sizes, separate_strides(random, sizes, true, true));
    case 8: {  // broadcast
      dmlref::Dimensions strides = separate_strides(random, sizes, number(random, 0, 1) == 0, false);
      for (std::uint32_t& stride : strides) {
        if (number(random, 0, 2) == 0) stride = 0;
      }
      return dmlref::TensorDesc(type, sizes, strides);
    }
    default: {  // overlapping
      dmlref::Dimensions strides(sizes.size());
      for (std::uint32_t& stride : strides) stride = number(random, 0, 4);
      return dmlref::TensorDesc(type, sizes, strides);
    }
  }
}

inline std::vector<std::byte> random_bytes(Random& random, std::size_t count) {
  std::vector<std::byte> bytes(count + 8);
  for (std::size_t i = 0; i < count; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  bytes.resize(count);
  return bytes;
}

/// Offset in elements of coordinate `at`, from the definition of a descriptor.
inline std::uint64_t offset_of(const dmlref::TensorDesc& tensor, std::span<const std::uint64_t> at) {
  std::uint64_t offset = 0;
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.strides) {
      offset += at[d] * (*tensor.strides)[d];
    } else {
      offset = offset * tensor.sizes[d] + at[d];
    }
  }
  return offset;
}

}  // namespace detail

/// Fills in data and the expected bytes: for every output element, the input coordinate by the operator's formula.
inline void expect(SliceCase& it, detail::Random& random) {
  const dmlref::TensorDesc& in = it.input_desc();
  const dmlref::TensorDesc& out = it.output_desc();
  it.element_size = dmlref::size_of(in.data_type);
  it.input = detail::random_bytes(random, in.total_size_in_bytes);
  it.before = detail::random_bytes(random, out.total_size_in_bytes);
  it.expected = it.before;
  std::uint64_t count = 1;
  for (const std::uint32_t size : out.sizes) count *= size;
  std::vector<std::uint64_t> to(out.sizes.size()), from(out.sizes.size());
  for (std::uint64_t n = 0; n < count; ++n) {
    std::uint64_t rest = n;
    for (std::size_t d = out.sizes.size(); d-- > 0;) {
      to[d] = rest % out.sizes[d];
      rest /= out.sizes[d];
      if (const auto* slice = std::get_if<dmlref::SliceDesc>(&it.desc)) {
        from[d] = slice->offsets[d] + slice->strides[d] * to[d];
      } else {
        const auto& slice1 = std::get<dmlref::Slice1Desc>(it.desc);
        const std::int64_t stride = slice1.window_strides[d];
        const std::uint64_t first = slice1.window_offsets[d] + (stride < 0 ? slice1.window_sizes[d] - 1 : 0);
        from[d] = stride < 0 ? first - static_cast<std::uint64_t>(-stride) * to[d]
                             : first + static_cast<std::uint64_t>(stride) * to[d];
      }
    }
    std::memcpy(it.expected.data() + detail::offset_of(out, to) * it.element_size,
                it.input.data() + detail::offset_of(in, from) * it.element_size, it.element_size);
  }
}

/// A valid descriptor (at the newest level) of any layout, with data.
inline SliceCase random_slice(detail::Random& random, const SliceLimits& limits = {}) {
  using detail::number;
  while (true) {
    const std::size_t rank = limits.rank != 0 ? limits.rank : number(random, 1, 8);
    const std::size_t size = limits.element_size != 0 ? limits.element_size : std::size_t{1} << number(random, 0, 3);
    const dmlref::DataType type = detail::type_of_size(random, size);
    const bool slice1 = number(random, 0, 3) != 0;
    const std::size_t wide =
        number(random, 0, 2) != 0 ? rank - 1 : number(random, 0, static_cast<std::uint32_t>(rank - 1));
    const bool plain = number(random, 0, 3) == 0;  // a crop
    std::uint64_t room = limits.elements;
    dmlref::Dimensions in_sizes(rank), out_sizes(rank), offsets(rank), windows(rank), strides(rank);
    std::vector<std::int32_t> signed_strides(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t d = i == 0 ? wide : i <= wide ? i - 1 : i;  // the wide one first, then the others in order
      const auto most =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(room, i == 0 ? (number(random, 0, 1) ? 700 : 40) : 9));
      out_sizes[d] = number(random, 1, std::max(most, 1u));
      room /= out_sizes[d];
      const std::uint32_t kind = plain ? 0 : number(random, 0, 9);
      strides[d] = kind < 5 ? 1 : kind < 9 ? number(random, 2, 4) : number(random, 5, 11);
      signed_strides[d] = static_cast<std::int32_t>(strides[d]);
      if (!plain && number(random, 0, 2) == 0) signed_strides[d] = -signed_strides[d];
      const std::uint32_t extra = slice1 && number(random, 0, 3) == 0 ? number(random, 0, 9) : 0;
      windows[d] = (out_sizes[d] - 1) * strides[d] + 1 + extra;
      const bool whole = number(random, 0, 1) == 0;
      offsets[d] = whole ? 0 : number(random, 0, 3);
      in_sizes[d] = offsets[d] + windows[d] + (whole ? 0 : number(random, 0, 3));
    }
    SliceCase it;
    const dmlref::TensorDesc in = detail::random_tensor(random, type, in_sizes, true);
    const dmlref::TensorDesc out = detail::random_tensor(random, type, out_sizes, false);
    std::uint64_t logical = 1;  // a broadcast input is small, but DirectML limits the elements that it stands for
    for (const std::uint32_t extent : in_sizes) logical *= extent;
    if (logical > 0xFFFFFFFFu) continue;
    if (in.total_size_in_bytes / size > limits.spanned || out.total_size_in_bytes / size > limits.spanned) continue;
    if (slice1) {
      it.desc = dmlref::Slice1Desc{in, out, offsets, windows, signed_strides};
    } else {
      it.desc = dmlref::SliceDesc{in, out, offsets, out_sizes, strides};
    }
    expect(it, random);
    return it;
  }
}

/// The descriptor in words, for messages.
inline std::string describe(const SliceCase& it) {
  std::ostringstream text;
  const auto list = [&](const char* name, const auto& values) {
    text << ' ' << name << " {";
    for (const auto value : values) text << ' ' << value;
    text << " }";
  };
  const auto tensor = [&](const char* name, const dmlref::TensorDesc& desc) {
    list(name, desc.sizes);
    if (desc.strides) list("strides", *desc.strides);
  };
  text << "element size " << it.element_size;
  tensor("input", it.input_desc());
  tensor("output", it.output_desc());
  if (const auto* slice = std::get_if<dmlref::SliceDesc>(&it.desc)) {
    list("SLICE offsets", slice->offsets);
    list("strides", slice->strides);
  } else if (const auto* slice1 = std::get_if<dmlref::Slice1Desc>(&it.desc)) {
    list("SLICE1 offsets", slice1->window_offsets);
    list("windows", slice1->window_sizes);
    list("strides", slice1->window_strides);
  }
  return text.str();
}

/// Index of the first byte that differs, or the size where none does.
inline std::size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace dmlref_test
