# For scripts: vmlinux (path of a vmlinux with DWARF) and reference (bpftool's dump of the right answer, or nothing).
#
# From the corpus folder if there is one; else Debian's package of a kernel with debug information. Files are kept in a
# cache folder beside the scratch folders, so that one test run unpacks once.
set -euo pipefail

skip() {
  echo "SKIPPED: $1"
  exit 77
}

for program in bpftool zstd; do
  command -v "$program" >/dev/null || skip "needs $program"
done

cache=$PWD/../corpus
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
packed=$(ls "$BTFLOOM_CORPUS"/vmlinux-*.zst 2>/dev/null | grep -v '\.btf\.zst$' | head -1 || true)
if [[ -n $packed ]]; then
  name=$(basename "$packed" .zst)
  vmlinux=$cache/$name
  reference=$cache/$name.txt
  [[ -e $vmlinux ]] || { zstd -dqf "$packed" -o "$vmlinux.part" && mv "$vmlinux.part" "$vmlinux"; }
  if [[ ! -e $reference ]]; then
    zstd -dqf "${packed%.zst}.pahole.btf.zst" -o "$cache/$name.btf"
    bpftool btf dump file "$cache/$name.btf" >"$reference.part"
    mv "$reference.part" "$reference"
  fi
else
  reference=
  vmlinux=$cache/vmlinux-debian
  if [[ ! -e $vmlinux ]]; then
    package=$(apt-cache depends linux-image-cloud-amd64-dbg 2>/dev/null |
              sed -n 's/.*Depends: \(linux-image-.*-dbg\)/\1/p' | head -1)
    [[ -n $package ]] || skip "no corpus, and no package linux-image-cloud-amd64-dbg"
    (cd "$cache" && apt-get download -qq "$package" && dpkg -x "$package"_*.deb debian &&
     rm "$package"_*.deb)
    mv "$(find "$cache/debian" -name 'vmlinux-*' -type f | head -1)" "$vmlinux"
    rm -rf "$cache/debian"
  fi
fi
flock -u 9
