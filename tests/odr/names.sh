#!/bin/bash
# names.sh OBJECT…: no two of these objects, whose units were compiled with different flags, define one name of the library.
# Names of the standard library alone are left out: they carry no code tag. Instructions of what has other names cannot meet.
set -euo pipefail
names=$(mktemp)
trap 'rm -f "$names"' EXIT
for object in "$@"; do
  nm --defined-only "$object" | awk -v object="$object" '$2 ~ /^[A-Zuv]$/ && $3 ~ /6dmlref/ { print $3, object }'
done >"$names"
awk '
  { ++count[$2]; if (++seen[$1] > 1) { print $1 ": in " $2 " and " first[$1]; ++bad } else first[$1] = $2 }
  END {
    for (object in count) { ++objects; if (count[object] < 100) { print object ": only " count[object] " names"; ++bad } }
    printf "%d names in %d objects\n", NR, objects
    exit bad > 0 || objects < 2
  }' "$names"
