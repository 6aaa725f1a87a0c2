#include <fmt/format.h>
#include <png.h>

#include <string>
#include <string_view>

#include "io/image.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

/// libpng's simplified interface keeps its errors in the struct; whatever happens it is freed.
struct Png {
  png_image image{};
  Png() { image.version = PNG_IMAGE_VERSION; }
  ~Png() { png_image_free(&image); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  [[noreturn]] void fail(const char* what) const {
    throw FileError(fmt::format("{} PNG: {}", what, static_cast<const char*>(image.message)));
  }
};

constexpr png_uint_32 format_of(std::size_t channels) {
  return channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
}

}  // namespace

Image decode_png(std::span<const std::byte> file) {
  // libpng reads no further than the last row.
  constexpr std::string_view last_chunk("\0\0\0\0IEND\xAE\x42\x60\x82", 12);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.find(last_chunk) == std::string_view::npos) throw FileError("is no readable PNG: it ends before chunk IEND");
  Png png;
  if (png_image_begin_read_from_memory(&png.image, file.data(), file.size()) == 0) png.fail("is no readable");
  if (png.image.width > max_image_side || png.image.height > max_image_side) {
    throw FileError(fmt::format("is a picture of {} by {}, expected at most {} by {}", png.image.width,
                                png.image.height, max_image_side, max_image_side));
  }
  const std::size_t channels = (png.image.format & PNG_FORMAT_FLAG_ALPHA) != 0   ? 4
                               : (png.image.format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3
                                                                                 : 1;
  png.image.format = format_of(channels);
  Image image = make_image(png.image.width, png.image.height, channels);
  if (png_image_finish_read(&png.image, nullptr, image.pixels.data(), 0, nullptr) == 0) png.fail("is no readable");
  return image;
}

std::vector<std::byte> encode_png(const Image& image) {
  Png png;
  png.image.width = static_cast<png_uint_32>(image.width);
  png.image.height = static_cast<png_uint_32>(image.height);
  png.image.format = format_of(image.channels);
  png_alloc_size_t size = 0;
  if (png_image_write_to_memory(&png.image, nullptr, &size, 0, image.pixels.data(), 0, nullptr) == 0) {
    png.fail("cannot be written as");
  }
  const Reservation memory(size, "the bytes of the file");
  std::vector<std::byte> file(size);
  if (png_image_write_to_memory(&png.image, file.data(), &size, 0, image.pixels.data(), 0, nullptr) == 0) {
    png.fail("cannot be written as");
  }
  file.resize(size);
  return file;
}

}  // namespace dmlref::tool
