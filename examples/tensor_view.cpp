// Views of plain memory, without DirectML.
#include <dmlref/print.hpp>
#include <dmlref/tensor_view.hpp>

#include <iostream>
#include <numeric>
#include <vector>

int main() {
  using dmlref::TensorView;
  std::vector<float> pixels(12);
  std::iota(pixels.begin(), pixels.end(), 0.0f);

  const TensorView<float> image(pixels.data(), {3, 4});  // packed, row-major: 3 rows of 4
  std::cout << image << "\n\n";
  std::cout << image.flip(1) << "\n\n";                            // mirrored
  std::cout << image.slice({0, 1}, {3, 3}, {-2, 1}) << "\n\n";     // a window, every second row, upwards
  std::cout << image.permute({1, 0}).select(0, 2) << "\n\n";       // column 2
  std::cout << image.select(0, 0).broadcast_to({2, 4}) << "\n\n";  // row 0, twice
  image(2, 3) = 0.5f;                                              // writes to `pixels`
  std::cout << image.reshape({2, 6}) << "\n\n";
  std::cout << image.at(3, 0).has_value() << image.try_reshape({5}).has_value();  // neither exists
  std::cout << image.flip(0).is_contiguous() << image.flip(0).is_unique() << '\n';
}
