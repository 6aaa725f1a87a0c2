// make_seeds.cpp: FOLDER EXAMPLES: writes what the fuzz targets begin with to FOLDER/operator, model, npy, image and
// onnx.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "dmlref/directml.hpp"
#include "fuzz/onnx_seeds.hpp"
#include "fuzz/operator_bytes.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "io/npy.hpp"
#include "model/model.hpp"
#include "op/directml_case.hpp"
#include "validate/request.hpp"

namespace {

using namespace dmlref::tool;
namespace fs = std::filesystem;

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  void write(const char* target, const std::string& name, std::span<const std::byte> bytes) {
    write_file(folder_ / target / name, bytes);
    ++written_;
  }
  /// The desc, once as it is and once for sparse memory; false where it does not come back from its bytes.
  bool write(const std::string& name, const DML_OPERATOR_DESC& desc) {
    for (const unsigned sparse : {0u, 15u}) {
      dmlref_test::ByteWriter writer;
      writer.byte(14);  // the latest level
      writer.byte(sparse);
      const dmlref_test::OperatorToBytes encoded(desc, writer);
      const std::size_t used = writer.bytes().size();
      for (unsigned i = 0; i < 64; ++i) writer.byte(i * 37 + 5);  // data
      if (!comes_back(desc, std::span(writer.bytes()).first(used))) {
        std::fprintf(stderr, "%s: another desc after writing and reading\n", name.c_str());
        return false;
      }
      write("operator", name + (sparse != 0 ? "_sparse" : ""), std::as_bytes(std::span(writer.bytes())));
    }
    return true;
  }
  int written() const { return written_; }

 private:
  static bool comes_back(const DML_OPERATOR_DESC& desc, std::span<const std::uint8_t> bytes) {
    dmlref_test::ByteReader reader(bytes.subspan(2));
    const dmlref_test::OperatorFromBytes read(reader);
    dmlref_test::ByteWriter writer;
    writer.byte(bytes[0]);
    writer.byte(bytes[1]);
    const dmlref_test::OperatorToBytes encoded(read.desc(), writer);
    if (!std::equal(bytes.begin(), bytes.end(), writer.bytes().begin(), writer.bytes().end())) return false;
    for (const auto& row : dmlref::feature_levels) {
      if (dmlref::validate(desc, row.level).to_string() != dmlref::validate(read.desc(), row.level).to_string())
        return false;
    }
    return true;
  }

  fs::path folder_;
  int written_ = 0;
};

bool write_models(Seeds& seeds, const fs::path& examples) {
  for (const auto& entry : fs::directory_iterator(examples)) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    seeds.write("model", name + ".json", read_file(entry.path()));
    const Model model = parse_model(entry.path());
    for (const auto& [of, dispatchable] : model.dispatchables) {
      if (!seeds.write(name + "_" + of, dispatchable.op.desc())) return false;
    }
  }
  return true;
}

bool write_operators(Seeds& seeds) {
  for (const auto& it : outside::all_cases()) {
    if (!seeds.write("case_" + it->name, it->desc)) return false;
  }
  const request::Request requests[] = {request::convolution(), request::convolution_1d(), request::normalization(),
                                       request::fused(request::normalization1(), 45, 1.5f, 2.5f)};
  int number = 0;
  for (const request::Request& r : requests) {
    const request::Linked linked(r);
    if (!seeds.write("request_" + std::to_string(number++), linked.desc())) return false;
  }
  // Every activation, after a normalization.
  for (const dmlref::ActivationInfo& info : dmlref::activation_table) {
    const request::Request r = request::fused(request::normalization1(), static_cast<std::uint32_t>(info.type));
    const request::Linked linked(r);
    if (!seeds.write("activation_" + std::string(info.name), linked.desc())) return false;
  }
  return true;
}

void write_arrays(Seeds& seeds) {
  using dmlref::DataType;
  const std::array<std::byte, 48> data{std::byte{1}, std::byte{60}, std::byte{200}};
  for (std::uint32_t type = 1; type <= 11; ++type) {
    const auto of = static_cast<DataType>(type);
    const std::uint64_t shape[] = {2, 3};
    const std::vector<std::byte> file = write_npy(of, shape, std::span(data).first(6 * size_of(of)));
    seeds.write("npy", std::string(to_string(of)) + ".npy", file);
  }
  std::vector<std::byte> second = write_npy(DataType::uint8, {}, std::span(data).first(1));  // of version 2.0
  second[6] = std::byte{2};
  second.insert(second.begin() + 10, 2, std::byte{0});
  seeds.write("npy", "version_2.npy", second);
}

void write_pictures(Seeds& seeds, const fs::path& examples) {
  seeds.write("image", "picture.png", read_file(examples / "picture.png"));
  for (const std::size_t channels : {std::size_t{1}, std::size_t{3}, std::size_t{4}}) {
    Image image{5, 3, channels, std::vector<std::uint8_t>(15 * channels)};
    for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 29);
    const std::string name = "channels_" + std::to_string(channels);
    seeds.write("image", name + ".png", encode_png(image));
    if (channels != 4) seeds.write("image", name + ".jpg", encode_jpeg(image));
  }
}

void write_onnx(Seeds& seeds) {
  for (const dmlref_test::OnnxSeed& seed : dmlref_test::onnx_seeds()) {
    const std::string file = seed.file();
    seeds.write("onnx", seed.operator_type + ".onnx", std::as_bytes(std::span(file)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_seeds FOLDER EXAMPLES\n");
    return 2;
  }
  const fs::path examples = argv[2];
  Seeds seeds(argv[1]);
  if (!write_models(seeds, examples) || !write_operators(seeds)) return 1;
  write_arrays(seeds);
  write_pictures(seeds, examples);
  write_onnx(seeds);
  std::printf("%d seeds\n", seeds.written());
  return 0;
}
