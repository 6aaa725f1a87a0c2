// checked.hpp: two units of one program, with and without DMLREF_CHECKED.
#pragma once

enum class Broken { nothing, element, element_rank, layout, flip, broadcast, entry, erase };

#define DMLREF_CHECKED_TEXT_IMPL(a) #a
#define DMLREF_CHECKED_TEXT(a) DMLREF_CHECKED_TEXT_IMPL(a)

namespace checked {
const char* what_is_told(Broken broken, bool trap = false);
const char* tag();
}  // namespace checked
namespace unchecked {
const char* what_is_told(Broken broken, bool trap = false);
const char* tag();
}  // namespace unchecked
