// versions.hpp: what each peer says it is.
#pragma once

#include <string>

namespace bench {
std::string onednn_version();
std::string xnnpack_version();
std::string eigen_version();
std::string onnxruntime_version();
std::string torch_version();
}  // namespace bench
