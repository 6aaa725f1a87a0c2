#!/usr/bin/env bash
# run.sh SECONDS FUZZ_TARGET [FOLDER]: libFuzzer for that long, from the seeds beside the target and from what earlier runs
# found, which stays in FOLDER (build/fuzzed). Ends with what was covered; an input that breaks something stays there, too.
set -euo pipefail
seconds=$1
program=$(realpath "$2")
source=$(dirname "$(realpath "$0")")
target=$(basename "$program")
target=${target#fuzz_}
folder=$(realpath -m "${3:-$source/../../build/fuzzed}")/$target
mkdir -p "$folder/found"
dictionary=()
if [ -f "$source/$target.dict" ]; then dictionary=("-dict=$source/$target.dict"); fi
kept=()
if [ -d "$source/inputs/$target" ]; then kept=("$source/inputs/$target"); fi
export ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=0}
# Without entropic scheduling twice as many inputs a second are tried.
if ! "$program" -max_total_time="$seconds" -timeout=60 -entropic=0 -max_len=4096 -print_final_stats=1 \
  -artifact_prefix="$folder/" "${dictionary[@]}" "$folder/found" "$(dirname "$program")/seeds/$target" "${kept[@]}" \
  >"$folder/log" 2>&1; then
  grep -v '^#' "$folder/log" | tail -60
  printf '%s: failed; its input is in %s\n' "$target" "$folder"
  exit 1
fi
awk -v target="$target" '/^INFO: Loaded 1 modules/ { all = substr($5, 2) } /\tDONE/ { reached = $4 }
  /number_of_executed_units/ { inputs = $2 } /average_exec_per_sec/ { rate = $2 }
  END { printf "%s: %s inputs, %s a second; %s of %s counters\n", target, inputs, rate, reached, all }' "$folder/log"
