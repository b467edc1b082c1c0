#!/usr/bin/env bash
# btfloom, the command: help, version, outputs, exit codes and messages of every kind of failure. After a failure the old output is
# untouched and nothing else is left.
set -euo pipefail
btfloom=$BTFLOOM_BIN/btfloom
fail() { echo "FAILED: $*"; exit 1; }

rm -rf work; mkdir work; cd work
cat >input.c <<'C'
struct s { int a; struct s *next; } first;
int get(struct s *s) { return s->a; }
int main(void) { return get(&first); }
C
gcc -g input.c -o input
gcc -g -c input.c -o input.o
gcc input.c -o bare

expect() {  # expect STATUS TEXT COMMAND...
  local want=$1 text=$2 status=0
  shift 2
  "$@" >out 2>err || status=$?
  [[ $status -eq $want ]] || { cat err; fail "status $status, not $want: $*"; }
  [[ -z $text ]] || grep -qF -- "$text" err || { cat err; fail "no '$text' from: $*"; }
}

grep -q encode <("$btfloom" --help)
grep -Eq '^btfloom [0-9]+\.[0-9]+\.[0-9]+$' <("$btfloom" --version)
pahole=$("$btfloom" --print-pahole)
[[ $("$pahole" --version) == v1.31 ]]

# Detached, in place, several files; quiet on success.
expect 0 '' "$btfloom" encode -o out.btf input
[[ ! -s err && ! -s out ]] || fail "not quiet"
[[ $(stat -c %a out.btf) == 640 ]]
cp -p input copy; chmod 751 copy
expect 0 '' "$btfloom" encode --in-place copy
[[ $(stat -c %a copy) == 751 ]] || fail "mode was not kept"
./copy
cmp <(bpftool btf dump file copy) <(bpftool btf dump file out.btf)
readelf -SW input | sed -n 's/^ *\[ *[0-9]*\] \(\.[^ ]* .*\)/\1/p' | grep -v shstrtab >before
readelf -SW copy | sed -n 's/^ *\[ *[0-9]*\] \(\.[^ ]* .*\)/\1/p' | grep -v shstrtab | grep -v '^\.BTF ' >after
diff before after || fail "other sections changed"
cmp <(readelf -lW input | grep LOAD) <(readelf -lW copy | grep LOAD)
cp copy once; expect 0 '' "$btfloom" encode --in-place copy; cmp once copy || fail "encoding twice differs"
expect 0 '' "$btfloom" encode -j3 --stats -o two.btf input input.o
grep -q '^units  *2 ' err

# A .BTF that the file loads into memory (as a linked vmlinux does) keeps its place and size, and is whole.
head -c 2000 /dev/zero >old.btf
ld -r -b binary -o old.o old.btf
objcopy --rename-section .data=.BTF,alloc,load,readonly,data,contents old.o
gcc input.o old.o -o loaded
expect 0 '' "$btfloom" encode --in-place loaded
./loaded
cmp <(bpftool btf dump file loaded) <(bpftool btf dump file out.btf)
objcopy -O binary --only-section=.BTF loaded section
[[ $(stat -c %s section) -eq 2000 ]] || fail "the loaded section changed its size"
# header: types at 12, strings at 16 and 20; together they are the whole section.
[[ $((24 + $(od -An -tu4 -j16 -N4 section) + $(od -An -tu4 -j20 -N4 section))) -eq 2000 ]] || fail "bytes behind the BTF"

# Empty values are values, and what stands behind -- is a file.
expect 0 '' "$btfloom" encode --lang-exclude= -o empty_value.btf input; cmp out.btf empty_value.btf
cp input ./--stats=
expect 0 '' "$btfloom" encode -o odd_name.btf -- --stats=; cmp out.btf odd_name.btf

# Symbolic links stay links.
ln -sf out.btf link.btf; echo old >out.btf
expect 0 '' "$btfloom" encode -o link.btf input
[[ -L link.btf && $(head -c 2 out.btf | od -An -tx1 | tr -d ' ') == 9feb ]] || fail "link was replaced"

# Failures.
echo old >keep.btf
for bad in \
  "1|cannot open the input|missing" \
  "1|the input is a folder|." \
  "1|not an ELF file|input.c" \
  "1|the input is empty|empty" \
  "2|compile with -g|bare"; do
  IFS='|' read -r status text file <<<"$bad"
  : >empty
  expect "$status" "$text" "$btfloom" encode -o keep.btf "$file"
  grep -q "btfloom: error: $file: " err || fail "message does not name $file"
  [[ $(cat keep.btf) == old ]] || fail "old output was touched"
done
for size in 10 64 1000 5000 12000; do
  head -c $size input >truncated
  expect 1 'truncated' "$btfloom" encode -o keep.btf truncated
done
expect 3 'create the folder first' "$btfloom" encode -o nowhere/out.btf input
expect 3 'No space left' "$btfloom" encode -o /dev/full input
expect 3 'Is a directory' "$btfloom" encode -o . input
expect 64 'say where the BTF should go' "$btfloom" encode input
expect 64 '' "$btfloom" encode --no-such-option -o out.btf input
expect 64 'unknown feature' "$btfloom" encode --features nosuch -o out.btf input
expect 64 'unknown language' "$btfloom" encode --lang-exclude nosuch -o out.btf input
expect 64 '' "$btfloom" encode -j0 -o out.btf input
[[ $(cat keep.btf) == old ]] || fail "old output was touched"
[[ -z $(ls -A | grep '^\.[^.]' || true) ]] || fail "temporary files were left: $(ls -A)"

# A disk that fills up: a small tmpfs, if we may mount one.
mkdir full
if mount -t tmpfs -o size=16k tmpfs full 2>/dev/null; then
  trap 'umount full' EXIT
  echo old >full/out.btf; head -c 16384 /dev/zero >full/ballast 2>/dev/null || true
  expect 3 'No space left' "$btfloom" encode -o full/out.btf input
  [[ $(cat full/out.btf) == old && $(ls -A full | wc -l) -eq 2 ]] || fail "full disk left: $(ls -A full)"
fi
# A folder that may not be written, unless we are root, whom nothing stops.
if [[ $(id -u) -ne 0 ]]; then
  mkdir locked; chmod 555 locked
  expect 3 'check who owns the folder' "$btfloom" encode -o locked/out.btf input
fi

# A broken unit (DWARF version 9) is an error, nothing is written, and the other units are looked at all the same ...
printf '.section .debug_info,"",@progbits\n.long 2f-1f\n1: .short 9\n.byte 1,8\n.long 0\n2:\n' >broken.s
gcc -c broken.s -o broken.o
gcc input.o broken.o -o partly
expect 1 '1 unit is broken' "$btfloom" encode -o keep.btf partly
grep -q 'error: partly: DIE 0x[0-9a-f]*: DWARF version 9 is unknown' err || { cat err; fail "no reason given"; }
[[ $(cat keep.btf) == old ]] || fail "old output was touched"
# ... unless the user wants what there is; the exit code still tells.
expect 7 'DWARF version 9' "$btfloom" encode --keep-going -o partly.btf partly
grep -q "STRUCT 's' size=16" <(bpftool btf dump file partly.btf) || fail "the sound unit is missing"

# Odd types cost themselves and are counted.
echo '_Atomic int counter; int get(void) { return counter; }' >odd.c
gcc -g -c odd.c -o odd.o
expect 0 'BTF has no _Atomic' "$btfloom" encode -o odd.btf odd.o
grep -q 'warning: odd.o: odd.c: DIE 0x' err || fail "warning does not name file, unit and DIE"
grep -q '1 odd types' err || fail "no count"
echo "all well"
