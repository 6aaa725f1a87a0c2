#!/bin/sh
# includes.sh COMPILER INCLUDE_DIR HEADER FORBIDDEN: no file that HEADER includes, directly or not, matches FORBIDDEN (grep -E).
set -eu
files=$(echo "#include <$3>" | "$1" -std=c++20 -x c++ -I "$2" -M - | tr -s ' \\' '\n')
echo "$files" | grep -q "/$3\$" || { echo "the list of files lacks $3 itself"; exit 1; }
if echo "$files" | grep -E "$4"; then exit 1; fi
