#!/usr/bin/env bash
# examples/cmake-app builds against the installed package, gets its types twice, and still runs.
set -euo pipefail
command -v bpftool >/dev/null || { echo "SKIPPED: needs bpftool"; exit 77; }
rm -rf prefix build
cmake --install "$BTFLOOM_BIN/.." --prefix "$PWD/prefix" >/dev/null
cmake -G Ninja -S "$BTFLOOM_SOURCE/examples/cmake-app" -B build \
  -DCMAKE_PREFIX_PATH="$PWD/prefix" >/dev/null
cmake --build build
bpftool btf dump file build/shop.btf >detached
cmp detached <(bpftool btf dump file build/shop_traced)
# x86-64: a pointer and a 4-byte count, padded to 8; two bitfields share four bytes.
grep -q "STRUCT 'basket' size=16 vlen=2" detached
grep -q "STRUCT 'price' size=4 vlen=2" detached
grep -q "'cents' type_id=[0-9]* bits_offset=4 bitfield_size=28" detached
grep -q "FUNC 'basket_total'" detached
[[ $(build/shop_traced) == "2 items, 1745 cents" ]]
echo "all well"
