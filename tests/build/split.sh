#!/usr/bin/env bash
# Split BTF by the command: many modules in one call, distilled bases in the file and beside it, and the index of a base, which
# must never decide anything that the base does not say.
set -euo pipefail
btfloom=$BTFLOOM_BIN/btfloom
fail() { echo "FAILED: $*"; exit 1; }

rm -rf work; mkdir work; cd work
export BTFLOOM_CACHE=$PWD/cache
echo 'struct s { int a; struct s *next; } s; typedef struct s s_t; s_t *p;' >kernel.c
for i in 1 2 3 4; do
  echo "struct s { int a; struct s *next; }; typedef struct s s_t; struct m$i { s_t *s; int n[$i]; } m$i;" >m$i.c
  gcc -g -c m$i.c -o m$i.ko
done
gcc -g -c kernel.c -o kernel.o
"$btfloom" encode -o kernel.btf kernel.o
dump() { bpftool btf dump file "$1" -B "${2:-kernel.btf}"; }

# The reference of everything below: no cache at all.
for i in 1 2 3 4; do
  "$btfloom" encode --base kernel.btf --base-cache "" -o m$i.btf m$i.ko
  grep -q "STRUCT 'm$i'" <(dump m$i.btf) || fail "m$i is missing"
  if grep -q "'s'\|'s_t'" <(dump m$i.btf | grep '^\['); then fail "a type of the base was repeated"; fi
done
[[ ! -e cache ]] || fail "a cache was made that nobody asked for"

# Many in one call, detached and in place; the cache changes nothing.
mkdir out
"$btfloom" encode -j3 --each --base kernel.btf -o out m1.ko m2.ko m3.ko m4.ko
for i in 1 2 3 4; do cmp m$i.btf out/m$i.btf; done
[[ $(ls cache | wc -l) -eq 1 && $(stat -c %a cache) == 700 ]] || fail "cache: $(ls -la cache)"
for i in 1 2 3 4; do cp m$i.ko in$i.ko; done
"$btfloom" encode --each --in-place --base kernel.btf in1.ko in2.ko in3.ko in4.ko
for i in 1 2 3 4; do
  objcopy -O binary --only-section=.BTF --set-section-flags .BTF=alloc in$i.ko section
  cmp section m$i.btf
done
# One that fails does not stop the others, and the exit code tells.
echo 'not ELF' >bad.ko; rm out/*
status=0; "$btfloom" encode --each --base kernel.btf -o out m1.ko bad.ko m2.ko 2>err || status=$?
[[ $status -eq 1 && -e out/m1.btf && -e out/m2.btf ]] || fail "status $status, $(ls out)"
grep -q '^btfloom: error: bad.ko: not an ELF file' err || { cat err; fail "no reason given"; }

# Distilled: two sections in the file hold what the two files beside it hold.
"$btfloom" encode --base kernel.btf --features +distilled_base -o d.btf --output-base d.base m1.ko
cp m1.ko d.ko
"$btfloom" encode --base kernel.btf --features +distilled_base --in-place d.ko
for section in BTF BTF.base; do
  objcopy -O binary --only-section=.$section --set-section-flags .$section=alloc d.ko section
  cmp section d.${section/BTF./}  2>/dev/null || cmp section d.btf
done
grep -q "STRUCT 's' size=16 vlen=0" <(bpftool btf dump file d.base) || fail "the base names no 's'"
grep -q "STRUCT 'm1'" <(dump d.btf d.base) || fail "m1 is missing"
"$btfloom" encode --base kernel.btf --in-place d.ko
if readelf -SW d.ko | grep -q 'BTF\.base'; then fail "a distilled base was left behind"; fi

# An index that is cut, changed, empty, of another base, or from somebody else is made again.
index=$(echo cache/*)
cp "$index" good
again() {
  "$btfloom" encode --base kernel.btf -o again.btf m3.ko || fail "$1"
  cmp m3.btf again.btf || fail "$1"
}
again "a sound index"
for at in 0 8 16 24 100 $(($(stat -c %s good) / 2)) $(($(stat -c %s good) - 1)); do
  cp good "$index"; printf '\xa5' | dd of="$index" bs=1 seek="$at" conv=notrunc status=none
  again "a byte changed at $at"
  cmp "$index" good || fail "a damaged index was not replaced"
done
for size in 0 1 8 63 64 1000 $(($(stat -c %s good) - 1)); do
  head -c "$size" good >"$index"
  again "cut to $size bytes"
done
"$btfloom" encode -o other.btf m1.ko
"$btfloom" encode --base other.btf -o unused.btf m2.ko
for other in cache/*; do [[ $other == "$index" ]] || cp "$other" "$index"; done
again "the index of another base"
rm "$index"; mkdir "$index"
again "a folder in its place"
rmdir "$index"; ln -s /dev/zero "$index"
again "a link to a device"
rm -f "$index"; cp other.btf "$index"; chmod 666 "$index"
again "writable by everybody"
if [[ $(id -u) -eq 0 ]]; then
  cp good "$index"; chown 1:1 "$index"
  again "owned by somebody else"
fi
BTFLOOM_CACHE=/proc/nowhere again "a folder that cannot be made"
echo >file; BTFLOOM_CACHE=$PWD/file again "a file in place of the folder"

# 64 processes at once, all of which make it.
rm -rf cache
for i in $(seq 64); do "$btfloom" encode --base kernel.btf -o many$i.btf m4.ko & done
for job in $(jobs -p); do wait "$job" || fail "one of 64"; done
for i in $(seq 64); do cmp m4.btf many$i.btf; done
[[ $(ls -A cache | wc -l) -eq 1 ]] || fail "left in the cache: $(ls -A cache)"
cmp good cache/* || fail "one of 64 left another index"
echo "all well"
