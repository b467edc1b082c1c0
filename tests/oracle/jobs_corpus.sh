#!/usr/bin/env bash
# One answer for a vmlinux, whatever the number of jobs, the delays in workers, the build path and the compiler of btfloom:
# fifty runs, one checksum. The test that started the project: a prototype differed from itself under -j.
source "$(dirname "$0")/../support/corpus.sh"

encode() {  # encode BIN JOBS SEED -> checksum
  BTFLOOM_TEST_DELAY=$3 "$1/btfloom" encode -j"$2" --lang-exclude=rust -o jobs.btf "$vmlinux"
  sha256sum <jobs.btf
}

want=$(encode "$BTFLOOM_BIN" 1 0)
bpftool btf dump file jobs.btf >serial.txt
runs=1
check() {
  local got
  got=$(encode "$@")
  runs=$((runs + 1))
  if [[ $got != "$want" ]]; then
    echo "differs from the serial answer: $*"
    bpftool btf dump file jobs.btf | diff serial.txt - | head -20
    exit 1
  fi
}

for jobs in 1 2 3 5 8 16 64; do
  for seed in 0 1 2 3 4 5 6; do
    check "$BTFLOOM_BIN" "$jobs" $((seed * jobs))
  done
done

# Another build path.
mkdir -p "elsewhere/with space"
cp -rL "$BTFLOOM_BIN" "$BTFLOOM_BIN/../lib" "elsewhere/with space/"
check "$PWD/elsewhere/with space/bin" 2 9
rm -rf elsewhere
# Another compiler, if the caller built with one.
if [[ -n ${BTFLOOM_OTHER_BIN:-} ]]; then
  check "$BTFLOOM_OTHER_BIN" 2 11
fi
echo "$runs runs, one answer: $want"
