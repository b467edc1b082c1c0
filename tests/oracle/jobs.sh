#!/usr/bin/env bash
# Serial and every -jN, compared through bpftool, on a small program of many units that shares types between them.
set -euo pipefail
command -v bpftool >/dev/null || { echo "SKIPPED: needs bpftool"; exit 77; }

mkdir -p units
cat >units/shared.h <<'C'
struct hidden;
struct node { struct node *next; struct hidden *owner; int value; };
typedef struct { struct node *head; unsigned count : 7; } list_t;
enum mode { READ = 1, WRITE = -2 };
C
objects=()
for i in $(seq 1 60); do
  {
    echo '#include "shared.h"'
    [[ $((i % 7)) -eq 0 ]] && echo 'struct hidden { long secret; struct node *back; };'
    [[ $((i % 11)) -eq 0 ]] && echo "struct local { int only_$((i % 2)); struct node *node; };"
    [[ $((i % 11)) -eq 0 ]] && echo "struct local *give_local_$i(void) { return 0; }"
    echo "int use_$i(list_t *list, enum mode mode, struct hidden *hidden);"
    echo "int use_$i(list_t *list, enum mode mode, struct hidden *hidden)"
    echo "{ return list->head->value + mode + (hidden != 0) + $i; }"
  } >"units/unit$i.c"
  objects+=("units/unit$i.o")
  gcc -g -O1 -c "units/unit$i.c" -o "units/unit$i.o"
done
gcc -shared -o all.so "${objects[@]}"

for input in all.so "${objects[*]}"; do
  # shellcheck disable=SC2086  # a list of objects
  "$BTFLOOM_BIN/btfloom" encode -j1 -o serial.btf $input
  bpftool btf dump file serial.btf >serial.txt
  [[ $(grep -c "STRUCT 'node'" serial.txt) -eq 1 ]]
  [[ $(grep -c "STRUCT 'local'" serial.txt) -eq 2 ]]
  for jobs in 2 3 5 8 16 64; do
    # shellcheck disable=SC2086
    BTFLOOM_TEST_DELAY=$jobs "$BTFLOOM_BIN/btfloom" encode -j$jobs -o parallel.btf $input
    bpftool btf dump file parallel.btf | diff serial.txt - || { echo "-j$jobs differs"; exit 1; }
    cmp serial.btf parallel.btf
  done
done
