// Shapes, strides, coordinates and lists of numbers: no constructor of a count and a value, no role taken for another.
#include <dmlref/tensor_view.hpp>

using namespace dmlref;

int main() {
  float data[6]{};
  const Shape shape{2, 3};
  const Strides strides{3, 1};
  const TensorView<float> view(data, shape, strides);
#if REFUSED  // no matching function for call to|no matching constructor
  const TensorView<float> swapped(data, strides, shape);
#endif
  const auto filled = Shape::filled(2, 3);
#if REFUSED  // no matching function for call to|no matching constructor
  const auto counted_shape = Shape(2, 3);
#endif
#if REFUSED  // no matching function for call to|no matching constructor
  const Strides counted_strides(2, 3);
#endif
#if REFUSED  // no matching function for call to|no matching constructor
  const Coordinates counted_coordinates(2, 0);
#endif
#if REFUSED  // no matching function for call to|no matching constructor
  const IndexList counted_list(2, 0);
#endif
  const Shape same(filled);
#if REFUSED  // conversion from|no viable conversion
  const Shape from_strides = strides;
#endif
  return view.size() == 6 && same.size() == 2 ? 0 : 1;
}
