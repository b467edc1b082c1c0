#!/usr/bin/env bash
# add_btf_target() as its users meet it: installed and from the source tree, with Ninja and with make, paths with spaces and
# letters beyond ASCII, nothing twice, everything again that must be, errors that say what to do.
set -euo pipefail
command -v bpftool >/dev/null || { echo "SKIPPED: needs bpftool"; exit 77; }

rm -rf prefix "work ü"
cmake --install "$BTFLOOM_BIN/.." --prefix "$PWD/prefix" >/dev/null
mkdir "work ü"
cd "work ü"
prefix=$OLDPWD/prefix

fail() { echo "FAILED: $*"; exit 1; }

project() {  # project FOLDER < the part of CMakeLists.txt behind find_package
  mkdir -p "$1"
  { echo 'cmake_minimum_required(VERSION 3.20)'; echo 'project(p LANGUAGES C)'
    echo 'find_package(BtfLoom CONFIG REQUIRED)'; cat; } >"$1/CMakeLists.txt"
  echo 'struct thing { int a; struct thing *next; }; struct thing first; int get(struct thing *t) { return t->a; } int main(void) { return get(&first); }' >"$1/main.c"
  echo 'struct other { long b; }; long other(struct other *o) { return o->b; }' >"$1/other.c"
}
configure() { cmake -G "$1" -S "$2" -B "$3" -DCMAKE_PREFIX_PATH="$prefix" >configure.log 2>&1; }
has_type() { grep -q "$2" <(bpftool btf dump file "$1") || fail "$1 lacks $2"; }

project app <<'C'
add_compile_options(-g)
add_executable(app main.c)
add_btf_target(app_btf TARGET app)
add_executable(embedded main.c)
add_btf_target(embedded_btf TARGET embedded EMBED FEATURES +global_var)
add_library(plain STATIC main.c other.c)
add_btf_target(plain_btf TARGET plain OUTPUT out/plain.btf)
add_library(objects OBJECT main.c other.c)
add_btf_target(objects_btf TARGET objects JOBS 2 EXCLUDE_FROM_ALL)
add_library(shared SHARED other.c)
add_btf_target(shared_btf TARGET shared LANG_EXCLUDE rust COMMENT "types of shared")
add_btf_target(file_btf FILE "$<TARGET_FILE:shared>.copy")
add_custom_command(OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/libshared.so.copy" DEPENDS shared
                   COMMAND ${CMAKE_COMMAND} -E copy "$<TARGET_FILE:shared>" "${CMAKE_CURRENT_BINARY_DIR}/libshared.so.copy")
install(FILES $<TARGET_PROPERTY:app_btf,BTF_FILE> DESTINATION btf)
C
sed -i 's|FILE "$<TARGET_FILE:shared>.copy"|FILE libshared.so.copy|; s|add_library(plain STATIC|file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/out")\nadd_library(plain STATIC|' app/CMakeLists.txt

for generator in Ninja "Unix Makefiles"; do
  build="build $generator"
  configure "$generator" app "$build" || { cat configure.log; fail "configure with $generator"; }
  cmake --build "$build" -j2 >build.log 2>&1 || { cat build.log; fail "build with $generator"; }
  for file in app_btf.btf embedded out/plain.btf file_btf.btf shared_btf.btf; do
    [[ -s $build/$file ]] || fail "$generator made no $file"
  done
  [[ ! -e $build/objects_btf.btf ]] || fail "EXCLUDE_FROM_ALL was made all the same"
  cmake --build "$build" --target objects_btf >build.log 2>&1 || { cat build.log; fail objects; }
  has_type "$build/app_btf.btf" "STRUCT 'thing' size=16"
  has_type "$build/embedded" "VAR 'first'"
  has_type "$build/out/plain.btf" "STRUCT 'other'"
  has_type "$build/objects_btf.btf" "STRUCT 'thing'"
  "./$build/embedded" || fail "the program with embedded BTF does not run"

  # Nothing runs twice ...
  stamps() { stat -c '%n %Y.%y' "$build"/*.btf "$build/embedded"; }
  before=$(stamps)
  cmake --build "$build" >build.log 2>&1
  [[ $(stamps) == "$before" ]] || fail "$generator ran something twice"
  # ... a change in a source runs it again, and nothing stays stale.
  sed -i 's/int a;/int a; int added;/' app/main.c
  cmake --build "$build" >build.log 2>&1 || { cat build.log; fail rebuild; }
  has_type "$build/app_btf.btf" "'added'"
  has_type "$build/embedded" "'added'"
  # A change of options runs it again.
  sed -i 's/TARGET app)/TARGET app FEATURES default,global_var)/' app/CMakeLists.txt
  cmake --build "$build" >build.log 2>&1 || { cat build.log; fail "rebuild with other options"; }
  has_type "$build/app_btf.btf" "VAR 'first'"
  sed -i 's/ FEATURES default,global_var)/)/' app/CMakeLists.txt
  sed -i 's/ int added;//' app/main.c
  cmake --install "$build" --prefix "$PWD/installed" >/dev/null
  [[ -s installed/btf/app_btf.btf ]] || fail "install(FILES) of BTF_FILE"
  rm -rf installed
done

# Several configurations in one build.
configure "Ninja Multi-Config" app multi || { cat configure.log; fail "Ninja Multi-Config"; }
cmake --build multi --config Debug --target app_btf >build.log 2>&1 || { cat build.log; fail multi; }
has_type multi/Debug/app_btf.btf "STRUCT 'thing'"

# From the source tree, without installing.
mkdir -p tree
cat >tree/CMakeLists.txt <<C
cmake_minimum_required(VERSION 3.25)
project(tree LANGUAGES C CXX)
add_subdirectory("$BTFLOOM_SOURCE" btfloom)
add_executable(app ../app/main.c)
target_compile_options(app PRIVATE -g)
add_btf_target(app_btf TARGET app)
C
configure Ninja tree build-tree || { cat configure.log; fail "add_subdirectory"; }
cmake --build build-tree --target app_btf -j2 >build.log 2>&1 || { cat build.log; fail "build from the source tree"; }
has_type build-tree/app_btf.btf "STRUCT 'thing'"

# Mistakes are errors that name what is wrong.
expect_error() {  # expect_error TEXT < lines
  rm -rf wrong build-wrong
  project wrong
  if configure Ninja wrong build-wrong; then fail "accepted: $1"; fi
  grep -q "$1" <(tr -s ' \n' ' ' <configure.log) || { cat configure.log; fail "message lacks: $1"; }
}
expect_error 'unknown arguments: OUTPUTS' <<<'add_executable(a main.c)
add_btf_target(x TARGET a OUTPUTS y)'
expect_error 'give either TARGET or FILE' <<<'add_btf_target(x OUTPUT y)'
expect_error 'there is no target nosuch' <<<'add_btf_target(x TARGET nosuch)'
expect_error 'EMBED needs a linked file' <<<'add_library(a STATIC main.c)
add_btf_target(x TARGET a EMBED)'
expect_error 'JOBS must be a number' <<<'add_executable(a main.c)
add_btf_target(x TARGET a JOBS many)'
expect_error 'no value for: OUTPUT' <<<'add_executable(a main.c)
add_btf_target(x TARGET a OUTPUT)'
expect_error 'BASE is not in this version' <<<'add_executable(a main.c)
add_btf_target(x TARGET a BASE b)'

# -g forgotten: the build fails and says what to add.
project bare <<<'add_executable(a main.c)
add_btf_target(x TARGET a)'
configure Ninja bare build-bare
if cmake --build build-bare >build.log 2>&1; then fail "built without debug information"; fi
grep -q 'compile with -g' build.log || { cat build.log; fail "no advice about -g"; }
[[ ! -e build-bare/x.btf ]] || fail "output in spite of the failure"
echo "all well"
