#!/usr/bin/env bash
# Six modules of the corpus kernel against the reference answer of their vmlinux: the same types as the peer's answers, none
# that the base has, none twice; the same bytes at every job count, with and without a kept index of the base.
source "$(dirname "$0")/../support/corpus.sh"
command -v python3 >/dev/null || skip "needs python3"
[[ -n $reference ]] || skip "needs the modules of the corpus"
base=$cache/$(basename "$vmlinux").btf
export BTFLOOM_CACHE=$PWD/cache
rm -rf cache

pairs=()
for packed in "$BTFLOOM_CORPUS"/*.ko.zst; do
  name=$(basename "$packed" .ko.zst)
  zstd -dqf "$packed" -o "$name.ko"
  zstd -dqf "$BTFLOOM_CORPUS/$name.pahole.btf.zst" -o "$name.reference.btf"
  "$BTFLOOM_BIN/btfloom-pahole" -j2 --lang_exclude=rust --btf_features=default --btf_base "$base" \
    --btf_encode_detached="$name.btf" "$name.ko"
  for jobs in 1 3 16; do
    BTFLOOM_TEST_DELAY=$jobs "$BTFLOOM_BIN/btfloom" encode -j$jobs --lang-exclude rust --base "$base" \
      -o again.btf "$name.ko"
    cmp "$name.btf" again.btf
  done
  "$BTFLOOM_BIN/btfloom" encode --base-cache "" --lang-exclude rust --base "$base" -o again.btf "$name.ko"
  cmp "$name.btf" again.btf
  bpftool btf dump file "$name.btf" -B "$base" >"$name.ours.txt"
  bpftool btf dump file "$name.reference.btf" -B "$base" >"$name.reference.txt"
  pairs+=("$name.ours.txt" "$name.reference.txt")
done
[[ ${#pairs[@]} -eq 12 ]] || { echo "FAILED: six modules expected, found $((${#pairs[@]} / 2))"; exit 1; }
python3 "$BTFLOOM_SOURCE/tests/support/same_types.py" "$reference" "${pairs[@]}"
