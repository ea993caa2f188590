#!/bin/sh
# The runtime's shared library must need nothing but the C and C++ libraries, and export nothing but the C API.
set -eu
library=$1
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
  case $name in
  libc.so.* | libm.so.* | libstdc++.so.* | libgcc_s.so.* | ld-linux-x86-64.so.* | libdl.so.* | libpthread.so.*) ;;
  libclang_rt.* | libasan* | libubsan*) ;;
  *) echo "error: $library: needs $name" >&2; exit 1 ;;
  esac
done
foreign=$(nm -D --defined-only "$library" | awk '$3 !~ /^gaudi_/ { print $3 }')
if [ -n "$foreign" ]; then
  echo "error: $library: exports more than gaudi_*:" $foreign >&2
  exit 1
fi
