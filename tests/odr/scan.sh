#!/bin/sh
# scan.sh PROGRAM: no symbol with the tag of the unit "base" (PROGRAM prints it) holds a VEX or EVEX instruction, except those of the kernels that are
# chosen at run time: namespaces avx2, avxvnni, avx512, avx512vnni, amx, and functions named …_with_fma. Symbols with the tag
# of another unit do hold some: the scan sees them.
set -eu
tags=$("$1")
base=$(echo "$tags" | awk '$1 == "base" { print $2 }')
other=$(echo "$tags" | awk '$1 ~ /^avx/ { print $2; exit }')
objdump -d --no-show-raw-insn "$1" | awk -v base="$base" -v other="${other:-none}" '
  /^[0-9a-f]+ <.*>:$/ {
    name = $2
    baseline = index(name, base) > 0
    kernel = name ~ /4avx2|7avxvnni|6avx512|10avx512vnni|3amx|_with_fma/
    tagged = index(name, other) > 0
    if (baseline && !kernel) ++baseline_symbols
    next
  }
  $2 ~ /^(v[a-z0-9]+|k(mov|or|and|andn|xor|not|unpck|add|shift)[a-z]*|mulx|rorx|sarx|shlx|shrx|andn|bzhi|pdep|pext)$/ && $2 !~ /^(verr|verw)$/ {
    if (baseline && !kernel) { print "VEX in " name " " $0; ++bad }
    if (baseline && kernel) ++in_kernels
    if (tagged) ++in_tagged
  }
  END {
    printf "%d baseline symbols, %d VEX instructions in them, %d in their kernels, %d under other tags\n",
           baseline_symbols, bad, in_kernels, in_tagged
    if (bad > 0) exit 1
    if (baseline_symbols < 100 || in_kernels < 50 || in_tagged < 1000) { print "the scan saw too little"; exit 1 }
  }'
