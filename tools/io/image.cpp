#include "io/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/element.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

/// The taps of one output position: first source index and weights that add up to 1.
struct Taps {
  std::ptrdiff_t first = 0;
  std::vector<double> weights;
};

double catmull_rom(double x) {
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return 0;
}

std::vector<Taps> make_taps(std::size_t from, std::size_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double spread = std::max(1.0, ratio);
  std::vector<Taps> all(to);
  for (std::size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * ratio - 0.5;
    Taps& taps = all[i];
    taps.first = static_cast<std::ptrdiff_t>(std::ceil(centre - 2 * spread));
    double sum = 0;
    for (std::ptrdiff_t s = taps.first; static_cast<double>(s) <= centre + 2 * spread; ++s) {
      taps.weights.push_back(catmull_rom((static_cast<double>(s) - centre) / spread));
      sum += taps.weights.back();
    }
    for (double& weight : taps.weights) weight /= sum;
  }
  return all;
}

std::size_t clamped(std::ptrdiff_t index, std::size_t size) {
  return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(index, 0, static_cast<std::ptrdiff_t>(size) - 1));
}

std::uint8_t to_byte(double value) { return static_cast<std::uint8_t>(std::lrint(std::clamp(value, 0.0, 255.0))); }

[[noreturn]] void refuse_type(DataType type) {
  throw FileError(fmt::format("is a picture of {}, expected FLOAT32, FLOAT16 or UINT8", to_string(type)));
}

}  // namespace

void expect_picture_type(DataType type) {
  if (type != DataType::float32 && type != DataType::float16 && type != DataType::uint8) refuse_type(type);
}

Image decode_image(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), std::min<std::size_t>(file.size(), 8));
  if (text == "\x89PNG\r\n\x1a\n") return decode_png(file);
  if (text.starts_with("\xFF\xD8\xFF")) return decode_jpeg(file);
  throw FileError("is no picture, expected a PNG or JPEG file");
}

Image make_image(std::size_t width, std::size_t height, std::size_t channels) {
  Image image{width, height, channels, {}};
  image.memory = Reservation(std::uint64_t{width} * height * channels, "the pixels");
  image.pixels.resize(width * height * channels);
  return image;
}

Image with_channels(Image image, std::size_t channels) {
  if (image.channels == channels) return image;
  Image result = make_image(image.width, image.height, channels);
  for (std::size_t i = 0; i < image.width * image.height; ++i) {
    const std::uint8_t* in = &image.pixels[i * image.channels];
    std::uint8_t* out = &result.pixels[i * channels];
    const std::uint8_t rgb[3] = {in[0], in[image.channels == 1 ? 0 : 1], in[image.channels == 1 ? 0 : 2]};
    if (channels == 1) {
      out[0] = to_byte(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]);
    } else {
      std::copy(rgb, rgb + 3, out);
      if (channels == 4) out[3] = 255;
    }
  }
  return result;
}

Image resample(Image image, std::size_t width, std::size_t height) {
  if (image.width == width && image.height == height) return image;
  const std::size_t channels = image.channels;
  Image result = make_image(width, height, channels);
  const std::vector<Taps> across = make_taps(image.width, width);
  const std::vector<Taps> down = make_taps(image.height, height);
  // A few columns at a time: along their rows first, kept in double, then down.
  constexpr std::size_t max_columns = 64;
  const std::uint64_t scratch = std::uint64_t{std::min(max_columns, width)} * image.height * channels;
  const Reservation memory(scratch * sizeof(double), "resampling");
  std::vector<double> wide(static_cast<std::size_t>(scratch));
  for (std::size_t first = 0; first < width; first += max_columns) {
    const std::size_t columns = std::min(max_columns, width - first);
    for (std::size_t y = 0; y < image.height; ++y) {
      for (std::size_t x = 0; x < columns; ++x) {
        const Taps& taps = across[first + x];
        for (std::size_t c = 0; c < channels; ++c) {
          double sum = 0;
          for (std::size_t t = 0; t < taps.weights.size(); ++t) {
            const std::size_t source = clamped(taps.first + static_cast<std::ptrdiff_t>(t), image.width);
            sum += taps.weights[t] * image.pixels[(y * image.width + source) * channels + c];
          }
          wide[(y * columns + x) * channels + c] = sum;
        }
      }
    }
    for (std::size_t y = 0; y < height; ++y) {
      const Taps& taps = down[y];
      for (std::size_t i = 0; i < columns * channels; ++i) {
        double sum = 0;
        for (std::size_t t = 0; t < taps.weights.size(); ++t) {
          const std::size_t source = clamped(taps.first + static_cast<std::ptrdiff_t>(t), image.height);
          sum += taps.weights[t] * wide[source * columns * channels + i];
        }
        result.pixels[(y * width + first) * channels + i] = to_byte(sum);
      }
    }
  }
  return result;
}

std::vector<std::byte> to_tensor(const Image& image, DataType type) {
  const std::size_t plane = image.width * image.height;
  std::vector<std::byte> tensor(plane * image.channels * size_of(type));
  for (std::size_t c = 0; c < image.channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) {
      const std::uint8_t value = image.pixels[i * image.channels + c];
      const std::size_t index = c * plane + i;
      switch (type) {
        case DataType::uint8: store_element(tensor, index, value); break;
        case DataType::float32: store_element(tensor, index, static_cast<float>(value) / 255.0f); break;
        case DataType::float16: store_element(tensor, index, half(static_cast<float>(value) / 255.0f)); break;
        default: refuse_type(type);
      }
    }
  }
  return tensor;
}

Image from_tensor(std::span<const std::byte> tensor, DataType type, std::size_t channels, std::size_t height,
                  std::size_t width) {
  const std::size_t plane = width * height;
  Image image = make_image(width, height, channels);
  const auto quantized = [](double value) { return value > 0 ? to_byte(value * 255.0) : std::uint8_t{0}; };
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) {
      const std::size_t index = c * plane + i;
      std::uint8_t& pixel = image.pixels[i * channels + c];
      switch (type) {
        case DataType::uint8: pixel = load_element<std::uint8_t>(tensor, index); break;
        case DataType::float32: pixel = quantized(static_cast<double>(load_element<float>(tensor, index))); break;
        case DataType::float16: pixel = quantized(static_cast<double>(load_element<half>(tensor, index))); break;
        default: refuse_type(type);
      }
    }
  }
  return image;
}

}  // namespace dmlref::tool
