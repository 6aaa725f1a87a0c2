// resample_fuzz.cpp: bytes as a picture, a size to scale it to and a budget: refused within the budget, or scaled to
// what a plain formula gives; a tensor of it and back.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "fuzz/operator_bytes.hpp"
#include "io/image.hpp"
#include "support/failure.hpp"
#include "support/memory.hpp"

namespace {

using namespace dmlref::tool;

constexpr std::size_t compared_pixels = 16;

struct Request {
  std::size_t width;
  std::size_t height;
  std::size_t channels;
  std::size_t to_width;
  std::size_t to_height;
  std::uint64_t budget;
};

std::size_t side(dmlref_test::ByteReader& reader) {
  const unsigned high = reader.byte();
  return 1 + (high << 8 | reader.byte()) % max_image_side;
}

Request read_request(dmlref_test::ByteReader& reader) {
  constexpr std::size_t channels[] = {1, 3, 4};
  Request request{};
  request.width = side(reader);
  request.height = side(reader);
  request.channels = channels[reader.byte() % 3];
  request.to_width = side(reader);
  request.to_height = side(reader);
  request.budget = std::uint64_t{1} << reader.byte() % 32;
  return request;
}

/// Products of weights and values, which are few enough to wait for.
bool is_small(const Request& r) {
  const auto taps = [](std::size_t from, std::size_t to) { return 4 * (1 + from / to) + 2; };
  const std::uint64_t across = std::uint64_t{r.to_width} * r.height * taps(r.width, r.to_width);
  const std::uint64_t down = std::uint64_t{r.to_width} * r.to_height * taps(r.height, r.to_height);
  constexpr std::uint64_t most = 1u << 18;
  const std::uint64_t compared = compared_pixels * taps(r.width, r.to_width) * taps(r.height, r.to_height);
  return across + down <= most && compared <= most && std::uint64_t{r.width} * r.height <= most;
}

/// Catmull-Rom's weight of source `s` for an output around `centre`, widened by `spread`.
double weight(std::ptrdiff_t s, double centre, double spread) {
  const double x = std::abs(static_cast<double>(s) - centre) / spread;
  if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

/// Element `at` of `count` that were scaled from `from` ones, which `value(i)` gives; those at the ends repeat.
template <class Value>
double scaled(std::size_t at, std::size_t count, std::size_t from, Value value) {
  const double ratio = static_cast<double>(from) / static_cast<double>(count);
  const double spread = std::max(1.0, ratio);
  const double centre = (static_cast<double>(at) + 0.5) * ratio - 0.5;
  double sum = 0;
  double weights = 0;
  for (auto s = static_cast<std::ptrdiff_t>(centre - 2 * spread) - 1; static_cast<double>(s) <= centre + 2 * spread;
       ++s) {
    const double w = weight(s, centre, spread);
    sum += w * value(static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(s, 0, static_cast<std::ptrdiff_t>(from) - 1)));
    weights += w;
  }
  return sum / weights;
}

/// A few pixels against the formula. Roundings to a byte may differ by one.
void compare(const Image& image, const Image& result) {
  const std::size_t count = result.pixels.size();
  for (std::size_t i = 0; i < count; i += std::max<std::size_t>(1, count / compared_pixels)) {
    const std::size_t c = i % result.channels;
    const std::size_t x = i / result.channels % result.width;
    const std::size_t y = i / result.channels / result.width;
    const double value = scaled(y, result.height, image.height, [&](std::size_t row) {
      return scaled(x, result.width, image.width, [&](std::size_t column) {
        return static_cast<double>(image.pixels[(row * image.width + column) * image.channels + c]);
      });
    });
    if (std::abs(std::clamp(value, 0.0, 255.0) - result.pixels[i]) > 0.5 + 1e-6) {
      dmlref_test::expect_none("pixel " + std::to_string(i) + " is " + std::to_string(result.pixels[i]) + ", not " +
                               std::to_string(value));
    }
  }
}

Image picture(const Request& request, std::span<const std::uint8_t> data) {
  Image image = make_image(request.width, request.height, request.channels);
  for (std::size_t i = 0; !data.empty() && i < image.pixels.size(); ++i) image.pixels[i] = data[i % data.size()];
  return image;
}

void use(const Request& request, std::span<const std::uint8_t> data) {
  const Image image = picture(request, data);
  Image copy = picture(request, data);
  const Image result = resample(std::move(copy), request.to_width, request.to_height);
  if (result.width != request.to_width || result.height != request.to_height || result.channels != request.channels ||
      result.pixels.size() != request.to_width * request.to_height * request.channels) {
    dmlref_test::expect_none("another size");
  }
  const bool same_size = image.width == result.width && image.height == result.height;
  if (same_size && image.pixels != result.pixels) dmlref_test::expect_none("other pixels at the same size");
  if (!same_size) compare(image, result);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dmlref_test::ByteReader reader(std::span(data, size));
  const Request request = read_request(reader);
  if (!is_small(request)) return 0;
  memory_budget().set_limit(request.budget);
  const std::uint64_t pixels = std::uint64_t{request.width} * request.height * request.channels;
  try {
    use(request, reader.rest());
    if (2 * pixels > request.budget) dmlref_test::expect_none("more pixels than the budget holds");
  } catch (const FileError&) {
    if (request.budget >= (std::uint64_t{1} << 31)) dmlref_test::expect_none("refused within the budget");
  }
  if (memory_budget().left() != request.budget) dmlref_test::expect_none("memory that was not given back");
  return 0;
}
