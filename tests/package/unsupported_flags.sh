#!/bin/bash
# unsupported_flags.sh COMPILER INCLUDE_DIR: flags under which the headers cannot work give one error, which says what to do.
set -euo pipefail
compiler=$1 include=$2
checks=0 failed=0
one_error() {  # MESSAGE HEADER FLAG…
  local message=$1 header=$2 errors
  shift 2
  errors=$(echo "#include <dmlref/$header>" | LC_ALL=C "$compiler" "$@" -DDMLREF_SEPARATE -I "$include" -fsyntax-only -x c++ - 2>&1 |
    grep 'error:' || true)
  checks=$((checks + 1))
  if [ "$(grep -c . <<<"$errors")" != 1 ] || [[ $errors != *"$message"* ]]; then
    printf '%s %s: expected one error with "%s"\n%s\n' "$header" "$*" "$message" "$(head -3 <<<"$errors")"
    failed=1
  fi
}

for header in "$include"/dmlref/*.hpp; do
  for standard in c++17 gnu++17 c++11; do
    one_error 'dmlref requires C++20: compile with -std=c++20 or newer' "$(basename "$header")" -std=$standard
  done
done
for header in directml.hpp validate.hpp slice.hpp tensor_view.hpp; do
  one_error 'compile without -fshort-enums' "$header" -std=c++20 -fshort-enums
done
if "$compiler" --version | grep -q 'Free Software' && [[ $("$compiler" -dumpmachine) == x86_64* ]]; then
  one_error '-msse2 -mfpmath=sse' dmlref.hpp -std=c++20 -mfpmath=387
fi
echo "$checks errors"
exit $failed
