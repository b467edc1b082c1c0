#!/usr/bin/env bash
# The answer for a vmlinux is the peer's, type for type and number for number (bpftool's text of both is the same). Without
# a reference that follows the same rules: the same structs, unions, enums and typedefs as the pahole package makes.
source "$(dirname "$0")/../support/corpus.sh"

"$BTFLOOM_BIN/btfloom-pahole" -j2 --lang_exclude=rust --btf_features=default \
  --btf_encode_detached=vmlinux.btf "$vmlinux"
bpftool btf dump file vmlinux.btf >ours.txt

if [[ -n $reference ]]; then
  if ! cmp -s ours.txt "$reference"; then
    echo "differs from the reference:"
    diff ours.txt "$reference" | head -40
    exit 1
  fi
  echo "$(grep -c '^\[' ours.txt) types, all as in the reference"
  exit 0
fi

command -v pahole >/dev/null || skip "needs pahole"
pahole -J -j2 --btf_gen_floats --lang_exclude=rust --btf_encode_detached=pahole.btf "$vmlinux"
bpftool btf dump file pahole.btf >theirs.txt
named() { grep -E "^\[[0-9]+\] (STRUCT|UNION|ENUM|ENUM64|TYPEDEF) '[^(]" "$1" |
          sed -E 's/^\[[0-9]+\] //; s/type_id=[0-9]+//' | sort; }
diff <(named ours.txt) <(named theirs.txt) | head -40
diff -q <(named ours.txt) <(named theirs.txt)
