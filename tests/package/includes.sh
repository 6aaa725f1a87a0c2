#!/bin/sh
# includes.sh COMPILER INCLUDE_DIR HEADER FORBIDDEN…: no file that HEADER includes, directly or not, matches a FORBIDDEN
# (grep -E). Each of these must find what it is there for: a file planted beside HEADER, the first one of INCLUDE_DIR that it
# matches, or the one after '=' in it. In CPATH: where else planted files are. All are planted at once.
set -eu
compiler=$1 include=$2 header=$3
shift 3
# files HEADER…: what it takes to compile them.
files() {
  for name; do echo "#include <$name>"; done | "$compiler" -std=c++20 -x c++ -I "$include" -M - | tr -s ' \\' '\n'
}
included=$(files "$header")
echo "$included" | grep -q "/$header\$" || { echo "the list of files lacks $header itself"; exit 1; }
ours=$(cd "$include" && find . -name '*.hpp' | sed 's#^\./##' | sort)
planted=
for forbidden; do
  pattern=${forbidden%=*}
  if echo "$included" | grep -E "$pattern"; then exit 1; fi
  case $forbidden in
    *=*) file=${forbidden#*=} ;;
    *) file=$(echo "$ours" | grep -E "$pattern" | head -1) ;;
  esac
  [ -n "$file" ] || { echo "$pattern matches no header of ours: it forbids nothing"; exit 1; }
  planted="$planted $file"
done
found=$(files "$header" $planted)
for forbidden; do
  echo "$found" | grep -qE "${forbidden%=*}" || { echo "${forbidden%=*} does not find what was planted"; exit 1; }
done
