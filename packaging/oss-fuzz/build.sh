#!/bin/bash -eu
# build.sh: the fuzz targets as OSS-Fuzz builds them: $SRC/dmlref with $CXX, $CXXFLAGS and $LIB_FUZZING_ENGINE, by way of
# $WORK, into $OUT, each with its seeds and dictionary. What runs has no other libraries than $OUT: all are linked in.
cd "$SRC/dmlref"
objects=$WORK/dmlref
mkdir -p "$objects"
# fmt's headers alone: its library has another standard library's names.
flags="$CXXFLAGS -std=c++20 -DFMT_HEADER_ONLY -DDMLREF_SEPARATE -Iinclude -Itests -Itools"

# compile SOURCE FLAG…: to an object named after the source.
compile() {
  local source=$1
  shift
  $CXX $flags "$@" -c "$source" -o "$objects/$(tr / _ <<<"$source").o"
}

for plan in include/dmlref/operators/*/plan.hpp; do
  family=$(basename "$(dirname "$plan")")
  sed "s#@plan@#${plan#include/}#" compiled/family.cpp.in >"$objects/$family.cpp"
  compile "$objects/$family.cpp" -DDMLREF_IMPLEMENTATION
done
compile compiled/rules.cpp -DDMLREF_IMPLEMENTATION
compile tests/support/reference_run.cpp
for source in tools/model/*.cpp tools/io/*.cpp tools/support/*.cpp; do
  case $source in
    tools/model/session.cpp | tools/io/without_pictures.cpp) ;;  # of the command
    *) compile "$source" ;;
  esac
done
rm -f "$objects/library.a"
ar rcs "$objects/library.a" "$objects"/*.o
libraries="$objects/library.a -l:libpng16.a -l:libjpeg.a -l:libz.a -lm"

$CXX $flags tests/fuzz/make_seeds.cpp $libraries -o "$objects/make_seeds"
ASAN_OPTIONS=detect_leaks=0 "$objects/make_seeds" "$objects/seeds" examples

for target in operator model npy image resample; do
  name=fuzz_$target
  $CXX $flags "tests/fuzz/${target}_fuzz.cpp" $LIB_FUZZING_ENGINE $libraries -o "$OUT/$name"
  if [ -d "tests/fuzz/inputs/$target" ]; then cp -r "tests/fuzz/inputs/$target/." "$objects/seeds/$target"; fi
  rm -f "$OUT/${name}_seed_corpus.zip"
  python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" "$objects/seeds/$target"/*
  if [ -f "tests/fuzz/$target.dict" ]; then cp "tests/fuzz/$target.dict" "$OUT/$name.dict"; fi
done
