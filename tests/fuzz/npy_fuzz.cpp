// npy_fuzz.cpp: bytes as an .npy file: an array that is written and read again to the same, or one line that says why
// not. What the command prints of its elements is made, too.
#include <algorithm>
#include <span>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "io/npy.hpp"
#include "support/comparison.hpp"
#include "support/element.hpp"
#include "support/failure.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dmlref::tool;
  try {
    const NpyArray array = read_npy(std::as_bytes(std::span(data, size)));
    const std::size_t shown = std::min<std::size_t>(array.count(), 32);
    elements_text(array.type, array.data, shown);
    elements_verbose(array.type, array.data, shown, 0, shown);
    const TensorBytes tensor{array.type, array.shape, array.data};
    if (!compare_tensors(tensor, tensor, {}, 4).equal()) dmlref_test::expect_none("differs from itself");
    const std::vector<std::byte> other(array.data.rbegin(), array.data.rend());
    compare_tensors({array.type, array.shape, other}, tensor, {}, 4);
    const NpyArray again = read_npy(write_npy(array.type, array.shape, array.data));
    if (again.type != array.type || again.shape != array.shape || again.data != array.data) {
      dmlref_test::expect_none("is not what was written");
    }
  } catch (const FileError&) {
  }
  return 0;
}
