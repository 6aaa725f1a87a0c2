// Views alone.
#include <dmlref/tensor_view.hpp>

float corner(const float* data) {
  const dmlref::TensorView<const float> view(data, {2, 3, 480, 640});
  return view.slice({0, 0, 0, 0}, {2, 3, 480, 640}, {1, 1, -2, 2})
      .permute({0, 2, 3, 1})
      .reshape({2, 240, 960})(1, 0, 0);
}
