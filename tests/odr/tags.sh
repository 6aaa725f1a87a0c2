#!/bin/bash
# tags.sh COMPILER INCLUDE_DIR: units for which the compiler defines other features get another code tag, whatever
# combination of them a CPU has; so do units of another standard library, language or optimization. What changes no code
# changes no tag.
set -euo pipefail
compiler=$1 include=$2
# "FEATURES|TAG" under some flags: the macros that are 1 and have names of capitals; nothing where it refuses them.
look() {
  "$compiler" -std=c++20 -x c++ -I "$include" -include dmlref/config.hpp "$@" -E -dD -P - <<<DMLREF_ABI 2>/dev/null | awk '
    $1 == "#define" && $2 ~ /^__([0-9A-Zd]+(_[0-9A-Z]+)*__|GCC_HAVE_SYNC.*_16)$/ && $3 == "1" && NF == 3 {
      features = features " " $2
    }
    $1 !~ /^#/ && NF { tag = $0 }
    END { if (tag != "") print features "|" tag }'
}
failed=0
fail() { printf '%s\n' "$*"; failed=1; }
base=$(look) || true
[[ $base == *"|v"* ]] || { echo "no tag: $base"; exit 1; }

# All features and CPUs that the compiler knows.
if "$compiler" --version | grep -q clang; then
  cpus=$("$compiler" --print-supported-cpus 2>&1 | awk '/^\t/ { print "-march=" $1 }')
  features=$("$compiler" --help 2>/dev/null | grep -oE '^ +-m[a-z0-9.-]+' || true)
  features+=" -mavx512f -mavx512vnni -mavx512vbmi -mavx512vbmi2 -mavx512bf16 -mavx512fp16 -mavxvnni -mavx2 -mfma -mf16c -mbmi2 -mgfni"
else
  cpus=$("$compiler" --help=target | awk '/Known valid arguments for -march/ { on = 1; next } !NF { on = 0 } on' | tr -s ' ' '\n' |
    sed '/^$/d; s/^/-march=/')
  features=$("$compiler" -Q --help=target | grep -oE '^ +-m[a-z0-9.-]+')
fi
declare -A flags_of tag_of
looked=0
for flags in $cpus $features; do
  case $flags in -march | -mabi | -m32 | -mx32 | -m16 | -mlong-double-* | -mandroid | -mbionic | -march=native) continue ;; esac
  seen=$(look "$flags") || continue
  [ -n "$seen" ] || continue
  looked=$((looked + 1))
  macros=${seen%|*} tag=${seen##*|}
  if [ -n "${tag_of[$macros]:-}" ] && [ "${tag_of[$macros]}" != "$tag" ]; then
    fail "$flags: tag $tag, and ${tag_of[$macros]} for the same features"
  fi
  if [ -n "${flags_of[$tag]:-}" ] && [ "${flags_of[$tag]%%|*}" != "$macros" ]; then
    fail "$flags and ${flags_of[$tag]##*|}: one tag $tag for different features:" \
      "$(diff <(tr ' ' '\n' <<<"${flags_of[$tag]%%|*}") <(tr ' ' '\n' <<<"$macros") | grep '^[<>]' | tr '\n' ' ')"
  fi
  tag_of[$macros]=$tag
  flags_of[$tag]=${flags_of[$tag]:-"$macros|$flags"}
done
echo "$looked flags, ${#flags_of[@]} tags"
[ "$looked" -ge 60 ] && [ ${#flags_of[@]} -ge 40 ] || fail "the test saw too little"

# All else, each unlike the others.
declare -A of=([${base##*|}]="no flags")
for flags in -O2 -Os "-O2 -fno-inline" -DNDEBUG -D_GLIBCXX_DEBUG "-D_GLIBCXX_DEBUG -D_GLIBCXX_DEBUG_PEDANTIC" -D_GLIBCXX_ASSERTIONS \
  -D_GLIBCXX_USE_CXX11_ABI=0 -D_GLIBCXX_SANITIZE_VECTOR -fsanitize=address -fsanitize=thread -fno-exceptions -fno-rtti -ffast-math \
  -funsigned-char -DDMLREF_TARGETS=scalar -DDMLREF_TARGETS=avx2 -DDMLREF_SEPARATE -DDMLREF_CHECKED=1 \
  -DDMLREF_UNALIGNED_VECTORS=1 -DDMLREF_TAG_OPTIMIZATION=0; do
  # shellcheck disable=SC2086
  tag=$(look $flags) || { fail "$flags: no tag"; continue; }
  tag=${tag##*|}
  [ -z "${of[$tag]:-}" ] || fail "$flags and ${of[$tag]}: one tag $tag"
  of[$tag]=$flags
done
for flags in -g -Wall -fPIC -mtune=generic "-O0 -fno-inline"; do
  # shellcheck disable=SC2086
  tag=$(look $flags)
  [ "${tag##*|}" = "${base##*|}" ] || fail "$flags: tag ${tag##*|}, expected that of no flags, ${base##*|}"
done
one=$(look -O1) other=$(look -O3)
[ "${one##*|}" = "${other##*|}" ] || fail "-O1 and -O3 have different tags"
for flags in -O0 -DNDEBUG; do
  one=$(look -DDMLREF_TAG_OPTIMIZATION=0 $flags) other=$(look -DDMLREF_TAG_OPTIMIZATION=0 -O2)
  [ "${one##*|}" = "${other##*|}" ] ||
    fail "DMLREF_TAG_OPTIMIZATION=0 $flags has another tag than with -O2"
done
exit $failed
