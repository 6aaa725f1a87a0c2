#!/usr/bin/env bash
# oss_fuzz.sh WORK COMPILER: packaging/oss-fuzz/build.sh with stand-ins for what OSS-Fuzz gives it: no sanitizer, the scalar
# kernels alone, and a program that replays files as the fuzzing engine. Each target must run on its own seeds, find its
# dictionary beside it and need no library that OSS-Fuzz's machines lack.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(realpath -m "$1")
compiler=$2
rm -rf "$work"
mkdir -p "$work/src" "$work/work" "$work/out"
ln -s "$root" "$work/src/dmlref"
"$compiler" -std=c++20 -O0 -I"$root/tests" -c "$root/tests/fuzz/replay_main.cpp" -o "$work/engine.o"
SRC=$work/src WORK=$work/work OUT=$work/out CXX=$compiler CXXFLAGS="-O0 -DDMLREF_TARGETS=scalar" \
  LIB_FUZZING_ENGINE=$work/engine.o "$root/packaging/oss-fuzz/build.sh"
for target in operator model npy image resample; do
  program=$work/out/fuzz_$target
  python3 -m zipfile -e "${program}_seed_corpus.zip" "$work/seeds/$target"
  "$program" "$work/seeds/$target" 2>"$work/$target.log"
  if ldd "$program" | grep -E 'png|jpeg|libz|fmt'; then
    echo "$target: is linked to what OSS-Fuzz's machines lack"
    exit 1
  fi
done
for dictionary in model npy image; do cmp "$work/out/fuzz_$dictionary.dict" "$root/tests/fuzz/$dictionary.dict"; done
