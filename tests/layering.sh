#!/usr/bin/env bash
# Data flows one way. Every folder of src/ may include itself and what is listed here, nothing else.
set -euo pipefail
cd "$(dirname "$0")/../src"
declare -A may=(
  [support]=""
  [jobs]="support"
  [elf]="support"
  [dwarf]="support elf"
  [types]="support"
  [load]="support dwarf types"
  [dedup]="support types"
  [btf]="support types"
  [base]="support elf types dedup btf"
  [inspect]="support elf types dedup btf base"
)
bad=0
for folder in */; do
  folder=${folder%/}
  [[ -v may[$folder] ]] || { echo "src/$folder: not in the layering table"; bad=1; continue; }
  while IFS=: read -r file line include; do
    target=$(sed -E 's/.*"([a-z]+)\/.*/\1/' <<<"$include")
    [[ " $folder ${may[$folder]} " == *" $target "* ]] ||
      { echo "src/$file:$line: $folder/ may not include $target/"; bad=1; }
  done < <(grep -rnoE '#include "[a-z]+/[^"]+"' "$folder" || true)
done
exit $bad
