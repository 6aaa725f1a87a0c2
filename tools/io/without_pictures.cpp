// without_pictures.cpp: the decoders and encoders where the build has neither libpng nor libjpeg.
#include "io/image.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {

Image decode_png(std::span<const std::byte>) { throw FileError("is a PNG file, which this dmlref was built without"); }
std::vector<std::byte> encode_png(const Image&) {
  throw FileError("cannot be written: this dmlref was built without PNG");
}
Image decode_jpeg(std::span<const std::byte>) {
  throw FileError("is a JPEG file, which this dmlref was built without");
}
std::vector<std::byte> encode_jpeg(const Image&) {
  throw FileError("cannot be written: this dmlref was built without JPEG");
}

}  // namespace dmlref::tool
