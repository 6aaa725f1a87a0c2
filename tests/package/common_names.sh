#!/bin/bash
# common_names.sh COMPILER SOURCE_DIR EIGEN_DIR: no header of ours uses a name that common headers define as a macro, or
# stops at a type that they declare. Public headers are compiled after those names; of all headers the tokens are read.
set -euo pipefail
compiler=$1 source=$2 eigen=$3
include=$source/include names=$source/tests/support/common_names.hpp
failed=0
compile() {  # FLAG… -
  if ! "$compiler" -std=gnu++20 -I "$include" -isystem "$eigen" -fsyntax-only -x c++ "$@"; then
    echo "does not compile: $*"
    failed=1
  fi
}

for header in "$include"/dmlref/*.hpp; do printf '#include "dmlref/%s"\n' "$(basename "$header")"; done |
  compile -DDMLREF_SEPARATE -DCOMMON_NAMES_BEFORE_EIGEN -include "$names" -

# Types of other headers: X11's, Objective-C's, DirectX-Headers', a macro.
for types in 'unsigned char BOOL;' 'bool BOOL;' \
  'uint32_t UINT, BOOL; typedef int32_t INT; typedef unsigned long long UINT64; typedef float FLOAT;' \
  $'int other;\n#define BOOL int\n'; do
  compile -Wall -Wextra -Werror - <<EOF
#include <cstdint>
typedef $types
#include <dmlref/desc/directml_types.hpp>
struct Expected {
  const void* tensors[4];
  int axis_count;
  const void* axes;
  int normalize_variance;
  float epsilon;
  const void* activation;
};
static_assert(sizeof(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC) == sizeof(Expected));
BOOL still_a_type = 1;
EOF
done

# Kernels of all architectures, by their tokens: a macro with parameters counts before a parenthesis alone.
python3 -B - "$names" "$include" <<'EOF' || failed=1
import pathlib, re, sys

names = pathlib.Path(sys.argv[1]).read_text()
macros = dict(re.findall(r"^#define (\w+)(\(?)", names, re.M))
del macros["BOOL"]  # Microsoft's name; directml_types.hpp puts such a macro away
bad = read = 0
for header in sorted(pathlib.Path(sys.argv[2]).rglob("*.hpp")):
    text = re.sub(r"//[^\n]*", "", re.sub(r'"(\\.|[^"\\\n])*"', '""', header.read_text()))
    read += 1
    for name in re.findall(r"^\s*#\s*(?:define|undef)\s+(\w+)", text, re.M):  # what is put away and comes back is no change
        put_away = all(f'{which}_macro("{name}")' in header.read_text() for which in ("push", "pop"))
        if not name.startswith("DMLREF_") and not put_away:
            print(f"{header}: {name} is a macro of ours without DMLREF_")
            bad += 1
    for match in re.finditer(r"\b[A-Za-z_]\w*\b(?=(\s*\()?)", text):
        if match[0] in macros and (not macros[match[0]] or match[1]):
            print(f"{header}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]} is a macro of a common header")
            bad += 1
print(f"{read} headers, {len(macros)} names")
sys.exit(bad > 0 or read < 100 or len(macros) < 100)
EOF
exit $failed
