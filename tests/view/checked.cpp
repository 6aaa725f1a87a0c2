// checked.cpp: breaks preconditions; compiled once with DMLREF_CHECKED=1 and once without, for one program.
#include "view/checked.hpp"
#include "dmlref/tensor_view.hpp"

#if DMLREF_CHECKED
namespace checked {
#else
namespace unchecked {
#endif

namespace {
const char* told = nullptr;
}

/// What the handler was told; null where it was not called. `trap`: no handler.
const char* what_is_told(Broken broken, bool trap) {
  using namespace dmlref;
  static int data[16] = {};
  const TensorView<int> view(data + 4, {2, 2});
  Shape shape{2, 2};
  volatile std::size_t two = 2;  // (no constant expression)
  told = nullptr;
  set_precondition_handler(trap ? nullptr : +[](const char* what) { told = what; });
  switch (broken) {
    case Broken::nothing: view(1, 1) = view.flip(1).at(5, 5).value_or(3); break;
    case Broken::element: view(1, static_cast<int>(two)) = 1; break;
    case Broken::element_rank: view.store({1}, 1); break;
    case Broken::layout: static_cast<void>(view.with_layout(Layout({2, -2}))); break;
    case Broken::flip: static_cast<void>(view.flip(two)); break;
    case Broken::broadcast: static_cast<void>(view.broadcast_to({2})); break;
    case Broken::entry: shape[two] = 1; break;
    case Broken::erase: shape.erase(0), shape.erase(0), shape.erase(0); break;
  }
  return told;
}
const char* tag() { return DMLREF_CHECKED_TEXT(DMLREF_ABI); }

}  // namespace (un)checked
