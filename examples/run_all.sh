#!/bin/sh
# Runs every model of this folder, prints its results, and writes the pictures.
#
#   examples/run_all.sh OUT_DIR
#
# The command is $DMLREF, else the one that was built last under build/, else the one on the PATH.
set -eu

if [ $# -ne 1 ]; then
  echo "usage: $0 OUT_DIR" >&2
  exit 2
fi
examples=$(cd "$(dirname "$0")" && pwd)
if [ -z "${DMLREF:-}" ]; then
  DMLREF=$(ls -t "$examples"/../build/tools/dmlref "$examples"/../build/*/tools/dmlref 2>/dev/null | head -n 1)
fi
DMLREF=${DMLREF:-$(command -v dmlref || true)}
if [ -z "$DMLREF" ]; then
  echo "$0: no dmlref found; build it first, or say where it is: DMLREF=/path/to/dmlref $0 OUT_DIR" >&2
  exit 2
fi
case $DMLREF in
  /*) ;;
  */*) DMLREF=$(cd "$(dirname "$DMLREF")" && pwd)/$(basename "$DMLREF") ;;
esac
mkdir -p "$1"
cd "$1"

"$DMLREF" info
for model in "$examples"/*.json; do
  echo
  echo "$(basename "$model"):"
  sed -n 's|^  // |  |p' "$model"
  "$DMLREF" run "$model"
done
echo
echo "slice1_feature_level.json, validated at four levels:"
for level in 2_0 2_1 3_0 4_1; do
  "$DMLREF" validate "$examples/slice1_feature_level.json" --feature-level "$level" || true
done
cp "$examples/picture.png" .
echo
echo "Pictures in $(pwd):"
ls ./*.png
