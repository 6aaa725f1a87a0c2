#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// After <cstdio>, which it needs.
#include <jpeglib.h>

#include "io/image.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

/// libjpeg reports by jumping. No object with a destructor may be made between the setjmp and the calls it guards.
struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

/// Damaged data is a warning to libjpeg, and an error to us.
void on_message(j_common_ptr info, int level) {
  if (level < 0) on_error(info);
}

jpeg_error_mgr* prepare(Errors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_error;
  errors.manager.emit_message = on_message;
  errors.message[0] = '\0';
  return &errors.manager;
}

/// False where `errors.message` says why.
bool read_header(jpeg_decompress_struct& jpeg, Errors& errors, std::span<const std::byte> file) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  return true;
}

bool read_rows(jpeg_decompress_struct& jpeg, Errors& errors, std::uint8_t* pixels, std::size_t stride) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels + jpeg.output_scanline * stride;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

bool write_rows(jpeg_compress_struct& jpeg, Errors& errors, const Image& image, unsigned char** bytes,
                unsigned long* size) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, bytes, size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = static_cast<int>(image.channels);
  jpeg.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(&image.pixels[jpeg.next_scanline * image.width * image.channels]);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

}  // namespace

Image decode_jpeg(std::span<const std::byte> file) {
  Errors errors{};
  jpeg_decompress_struct jpeg{};
  jpeg.err = prepare(errors);
  Image image;
  bool ok = read_header(jpeg, errors, file);
  const bool large = ok && (jpeg.image_width > max_image_side || jpeg.image_height > max_image_side);
  if (ok && !large) {
    image.width = jpeg.image_width;
    image.height = jpeg.image_height;
    image.channels = jpeg.num_components == 1 ? 1 : 3;
    image.pixels.resize(image.width * image.height * image.channels);
    ok = read_rows(jpeg, errors, image.pixels.data(), image.width * image.channels);
  }
  jpeg_destroy_decompress(&jpeg);
  if (large) throw FileError(fmt::format("is a picture larger than {} by {}", max_image_side, max_image_side));
  if (!ok) throw FileError(fmt::format("is no readable JPEG: {}", static_cast<const char*>(errors.message)));
  return image;
}

std::vector<std::byte> encode_jpeg(const Image& image) {
  Errors errors{};
  jpeg_compress_struct jpeg{};
  jpeg.err = prepare(errors);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool ok = write_rows(jpeg, errors, image, &bytes, &size);
  jpeg_destroy_compress(&jpeg);
  std::vector<std::byte> file(ok ? size : 0);
  if (ok) std::memcpy(file.data(), bytes, size);
  std::free(bytes);
  if (!ok) throw FileError(fmt::format("cannot be written as JPEG: {}", static_cast<const char*>(errors.message)));
  return file;
}

}  // namespace dmlref::tool
