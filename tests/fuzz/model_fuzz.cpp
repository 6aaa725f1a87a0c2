// model_fuzz.cpp: bytes as a JSON model of DxDispatch's format: a model whose operators can be validated and compiled
// and whose resources can be filled, or one line that says why not.
#include <string_view>

#include "dmlref/directml.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"
#include "model/model.hpp"
#include "support/memory.hpp"

namespace {

void use(const dmlref::tool::Model& model) {
  for (const auto& [name, dispatchable] : model.dispatchables) {
    for (const auto& row : dmlref::feature_levels)
      static_cast<void>(dmlref::validate(dispatchable.op.desc(), row.level));
    static_cast<void>(dmlref::compile(dispatchable.op.desc(), dmlref::latest_feature_level));
  }
  for (const auto& [name, desc] : model.resources) {
    if (desc.reads_file()) continue;  // npy_fuzz and image_fuzz are for these
    const dmlref::tool::Resource resource(desc);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const dmlref_test::MemoryFile file(data, size);
  dmlref::tool::memory_budget().set_limit(2u << 20);
  try {
    use(dmlref::tool::parse_model(file.path()));
  } catch (const dmlref::tool::Failure& failure) {
    if (std::string_view(failure.what()).empty()) dmlref_test::expect_none("a failure without words");
  }
  return 0;
}
