#include "peers/layout_change.hpp"

namespace bench {

std::function<void()> change_layout(const void*, void*, std::size_t, std::size_t, std::size_t, std::size_t, bool,
                                    unsigned) {
  return nullptr;
}

}  // namespace bench
