#!/usr/bin/env bash
# btfloom-pahole takes the command lines that builds give to pahole.
set -euo pipefail
pahole=$BTFLOOM_BIN/btfloom-pahole
fail() { echo "FAILED: $*"; exit 1; }

rm -rf work; mkdir work; cd work
printf 'float f; enum big { BIG = 0x100000000 } e; struct s { int a; } s; static inline int get(struct s *p) { return p->a; } int main(void) { return get(&s); }\n' >input.c
gcc -g input.c -o input
gcc input.c -o bare
kinds() { bpftool btf dump file "$1" | sed -nE 's/^\[[0-9]+\] ([A-Z0-9_]+) .*/\1/p' | sort -u | tr '\n' ' '; }

# The questions of builds (scripts/pahole-version.sh, Makefile.btf) come first and cost nothing.
[[ $("$pahole" --version) == v1.31 ]]
[[ $("$pahole" --numeric_version) == 131 ]]
grep -q '^encode_force,var,float,' <("$pahole" --supported_btf_features)

# Kernel 6.12 and later; older dialects; values behind "=" and as the next word.
"$pahole" -J -j2 --btf_features=encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs \
  --lang_exclude=rust --btf_encode_detached=a.btf input
"$pahole" --btf_encode_detached b.btf --btf_features default --lang_exclude rust -j input
cmp a.btf b.btf
[[ $(kinds a.btf) == *FLOAT* && $(kinds a.btf) == *ENUM64* ]]
"$pahole" -J --btf_gen_floats -j --skip_encoding_btf_enum64 --lang_exclude=rust,C++ --skip_encoding_btf_inconsistent_proto \
  --btf_gen_optimized --btf_encode_detached=c.btf input
[[ $(kinds c.btf) == *FLOAT* && $(kinds c.btf) != *ENUM64* ]]
# Without features: no floats, as the peer; options accumulate; a later switch changes what features said.
"$pahole" --btf_encode_detached=d.btf input; [[ $(kinds d.btf) != *FLOAT* ]]
"$pahole" --btf_features=var --btf_features=float --btf_encode_detached=e.btf input; [[ $(kinds e.btf) == *FLOAT* ]]
"$pahole" --btf_features=default --skip_encoding_btf_enum64 --btf_encode_detached=f.btf input; [[ $(kinds f.btf) != *ENUM64* ]]
"$pahole" --skip_encoding_btf_enum64 --btf_features=default --btf_encode_detached=g.btf input; [[ $(kinds g.btf) == *ENUM64* ]]
"$pahole" --btf_features=+global_var --btf_encode_detached=h.btf input; [[ $(kinds h.btf) == *DATASEC* ]]
# All means all: the default, what "+" would add, and what "+" never stands for.
"$pahole" --btf_features=all --btf_encode_detached=i.btf input
list=$("$pahole" --supported_btf_features)
"$pahole" --btf_features="$list" --btf_encode_detached=h.btf input; cmp h.btf i.btf

# Unknown features are left out; strictly they are refused. Unknown options are refused.
"$pahole" --btf_features=default,from_the_future --btf_encode_detached=j.btf input; cmp a.btf j.btf
status=0; "$pahole" --btf_features_strict=default,from_the_future,var --btf_encode_detached=k.btf input 2>err || status=$?
[[ $status -eq 1 && ! -e k.btf ]] || fail strict
grep -q 'unknown feature in --btf_features_strict: from_the_future; known are encode_force,var,' err
# Empty values are values: they do not swallow the next word. An empty list of features means none.
"$pahole" --btf_features= --btf_encode_detached=l.btf input; [[ $(kinds l.btf) != *ENUM64* ]]
"$pahole" -J --btf_features=default --lang_exclude= --btf_encode_detached=m.btf input; cmp a.btf m.btf
status=0; "$pahole" --expand_types input 2>err || status=$?
[[ $status -eq 64 ]] && grep -q 'use pahole itself' err
status=0; "$pahole" input 2>err || status=$?; [[ $status -eq 64 ]]
status=0; "$pahole" -J --lang_exclude=nosuch input 2>err || status=$?; [[ $status -eq 1 ]]
grep -q 'unknown language in --lang_exclude: nosuch' err
status=0; "$pahole" -J --btf_base=no-such-base.btf input 2>err || status=$?; [[ $status -eq 1 ]]; grep -q 'no-such-base.btf' err

# In the file itself.
cp input copy; "$pahole" -J -j2 --btf_features=default copy; ./copy
cmp <(bpftool btf dump file copy) <(bpftool btf dump file a.btf)
# The command line of every kernel, oldest first: quiet, and the file has its BTF and still runs; encoding again changes nothing.
modern=encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs
while read -r -a options; do
  cp input copy
  "$pahole" "${options[@]}" copy >out 2>&1
  [[ ! -s out ]] || { cat out; fail "not quiet: ${options[*]}"; }
  [[ $(kinds copy) == *STRUCT* ]] || fail "no BTF: ${options[*]}"
  ./copy
  cp copy once; "$pahole" "${options[@]}" copy; cmp once copy
done <<X
-J
-J --skip_encoding_btf_vars
-J --btf_gen_floats
-J --btf_gen_floats -j --skip_encoding_btf_enum64
-J --btf_gen_floats -j --lang_exclude=rust
-J --btf_gen_floats -j --lang_exclude=rust --skip_encoding_btf_inconsistent_proto --btf_gen_optimized
-J -j --btf_features=$modern -j --lang_exclude=rust
-J -j --btf_features=$modern,attributes --btf_features=layout --lang_exclude=rust
-j --btf_features=+reproducible_build -J
X
cp input copy
"$pahole" -J -j --btf_features=$modern --lang_exclude=rust --btf_encode_detached=copy.BTF.1 copy
cmp input copy || fail "detached output changed the input"
cmp copy.BTF.1 a.btf

# An input without DWARF counts as success, is reported, and leaves no output.
"$pahole" -J bare 2>err; grep -q 'no DWARF' err
"$pahole" --btf_encode_detached=none.btf bare 2>/dev/null; [[ ! -e none.btf ]]
# Anything else that goes wrong does not.
if "$pahole" -J missing 2>err; then fail "missing input"; fi
grep -q 'btfloom-pahole: error: missing: cannot open the input' err
[[ $(PAHOLE_LANG_EXCLUDE=nosuch "$pahole" -J copy 2>&1) == *nosuch* ]]
echo "all well"
