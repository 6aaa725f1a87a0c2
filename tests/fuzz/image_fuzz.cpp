// image_fuzz.cpp: bytes as a PNG or JPEG picture: decoded, scaled, made a tensor and back; PNG also written and read
// again to the same pixels.
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "fuzz/fuzz.hpp"
#include "io/image.hpp"
#include "support/failure.hpp"

namespace {

using namespace dmlref::tool;

unsigned two_bytes(std::string_view text, std::size_t at) {
  return static_cast<unsigned>(static_cast<unsigned char>(text[at])) << 8 | static_cast<unsigned char>(text[at + 1]);
}

/// Whether a header announces a side of more than 255, which takes long to decode. Each is also refused or decoded
/// within the command's own limits; here only time is saved.
bool is_large(std::string_view file) {
  if (file.starts_with("\x89PNG")) {  // the sides stand in its first chunk, in four bytes each
    if (file.size() < 24) return false;
    return two_bytes(file, 16) != 0 || two_bytes(file, 18) > 255 || two_bytes(file, 20) != 0 ||
           two_bytes(file, 22) > 255;
  }
  for (std::size_t i = 0; i + 9 < file.size(); ++i) {  // anything that may be a frame header of a JPEG
    const unsigned marker = two_bytes(file, i);
    const bool frame = marker >= 0xFFC0 && marker <= 0xFFCF && marker != 0xFFC4 && marker != 0xFFCC;
    if (frame && (two_bytes(file, i + 5) > 255 || two_bytes(file, i + 7) > 255)) return true;
  }
  return false;
}

void use(Image image) {
  using dmlref::DataType;
  if (image.width == 0 || image.height == 0) dmlref_test::expect_none("a picture without pixels");
  if (image.pixels.size() != image.width * image.height * image.channels) dmlref_test::expect_none("a wrong size");
  const Image again = decode_png(encode_png(image));
  if (again.width != image.width || again.height != image.height) dmlref_test::expect_none("another size");
  // An alpha channel that is opaque everywhere, or equal colours, may be left out by the encoder; ours writes all.
  if (again.channels != image.channels || again.pixels != image.pixels) dmlref_test::expect_none("other pixels");
  for (const DataType type : {DataType::uint8, DataType::float16, DataType::float32}) {
    const Image back = from_tensor(to_tensor(image, type), type, image.channels, image.height, image.width);
    if (back.pixels != image.pixels) dmlref_test::expect_none("a tensor of other pixels");
  }
  if (image.channels != 4) decode_jpeg(encode_jpeg(image));
  const std::size_t channels = image.channels == 1 ? 3 : 1;
  const Image scaled = resample(with_channels(std::move(image), channels), 7, 5);
  if (scaled.pixels.size() != 7 * 5 * channels) dmlref_test::expect_none("a wrong size after scaling");
}

std::optional<Image> decoded(std::span<const std::byte> file) {
  try {
    return decode_image(file);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (is_large({reinterpret_cast<const char*>(data), size})) return 0;
  if (std::optional<Image> image = decoded(std::as_bytes(std::span(data, size)))) use(*std::move(image));
  return 0;
}
