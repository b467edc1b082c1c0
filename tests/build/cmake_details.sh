#!/usr/bin/env bash
# The corners of add_btf_target(), with Ninja and with make: configurations, pools of the user's own, folders of outputs, a step that
# failed and must fail again, options that change an embedded BTF, and a job server that the step can reach.
set -euo pipefail
command -v bpftool >/dev/null || { echo "SKIPPED: needs bpftool"; exit 77; }

rm -rf prefix work; mkdir work
cmake --install "$BTFLOOM_BIN/.." --prefix "$PWD/prefix" >/dev/null
cd work
prefix=$OLDPWD/prefix

fail() { echo "FAILED: $*"; exit 1; }
has_type() { grep -q "$2" <(bpftool btf dump file "$1") || fail "$1 lacks $2"; }
has_section() { grep -q ' \.BTF ' <(readelf -SW "$1"); }
project() {  # project FOLDER < the part of CMakeLists.txt behind find_package
  rm -rf "$1"; mkdir -p "$1"
  { echo 'cmake_minimum_required(VERSION 3.20)'; echo 'project(p LANGUAGES C)'
    echo 'find_package(BtfLoom CONFIG REQUIRED)'; cat; } >"$1/CMakeLists.txt"
  echo 'struct thing { int a; } first; int main(void) { return first.a; }' >"$1/main.c"
}
configure() {  # configure GENERATOR FOLDER OPTION...
  rm -rf build
  cmake -G "$1" -S "$2" -B build -DCMAKE_PREFIX_PATH="$prefix" "${@:3}" >configure.log 2>&1 ||
    { cat configure.log; fail "configure $2 with $1"; }
}
build() { cmake --build build "$@" >build.log 2>&1 || { cat build.log; fail "build"; }; }

project configurations <<'C'
add_compile_options(-g)
add_executable(app main.c)
add_btf_target(app_btf TARGET app FEATURES default global_var LANG_EXCLUDE rust go CONFIGURATIONS Debug Release)
add_executable(embedded main.c)
add_btf_target(embedded_btf TARGET embedded EMBED FEATURES default global_var CONFIGURATIONS Debug Release)
C
project pools <<'C'
add_compile_options(-g)
add_executable(app main.c)
add_btf_target(one TARGET app)
set_property(GLOBAL APPEND PROPERTY JOB_POOLS mine=2)
add_btf_target(two TARGET app OUTPUT deep/er/two.btf)
C
project embedded <<'C'
add_executable(app main.c)
add_btf_target(app_btf TARGET app EMBED)
C

for generator in Ninja "Unix Makefiles"; do
  # Options with commas in them, in a configuration that is wanted and in one that is not.
  configure "$generator" configurations -DCMAKE_BUILD_TYPE=Debug
  build
  has_type build/app_btf.btf "VAR 'first'"
  has_type build/embedded "VAR 'first'"
  configure "$generator" configurations -DCMAKE_BUILD_TYPE=MinSizeRel
  build
  [[ -e build/app_btf.btf && ! -s build/app_btf.btf ]] || fail "$generator: output in another configuration is not empty"
  if has_section build/embedded; then fail "$generator: BTF was embedded in another configuration"; fi

  # Pools of the user's own, by variable and by property, stay; folders of outputs are made.
  configure "$generator" pools -DCMAKE_JOB_POOLS=link=1 -DCMAKE_JOB_POOL_LINK=link
  build
  has_type build/deep/er/two.btf "STRUCT 'thing'"

  # What failed must not look finished afterwards; the way out works.
  configure "$generator" embedded
  for attempt in first second; do
    if cmake --build build >build.log 2>&1; then fail "$generator: $attempt build without -g succeeded"; fi
    grep -q 'compile with -g' build.log || { cat build.log; fail "no advice about -g"; }
  done
  cmake build -DCMAKE_C_FLAGS=-g >/dev/null
  build
  has_type build/app "STRUCT 'thing'"
  # Another option reaches the embedded BTF, and the same does nothing.
  sed -i 's/ EMBED)/ EMBED FEATURES +global_var)/' embedded/CMakeLists.txt
  build
  has_type build/app "VAR 'first'"
  before=$(stat -c %Y.%y build/app)
  build
  [[ $(stat -c %Y.%y build/app) == "$before" ]] || fail "$generator embedded twice"
  sed -i 's/ FEATURES +global_var)/)/' embedded/CMakeLists.txt
done

# With several configurations in one build.
configure "Ninja Multi-Config" configurations
build --config Debug
build --config RelWithDebInfo
has_type build/Debug/app_btf.btf "VAR 'first'"
[[ ! -s build/RelWithDebInfo/app_btf.btf ]] || fail "output in another configuration is not empty"

# Under make -j3 the step has the job server: descriptors that are open, or a file. A stand-in for the command looks.
mv "$prefix/bin/btfloom" "$prefix/bin/btfloom.real"
cat >"$prefix/bin/btfloom" <<'C'
#!/usr/bin/env bash
auth=$(sed -nE 's/.*--jobserver-(auth|fds)=([^ ]+).*/\2/p' <<<"$MAKEFLAGS")
case "$auth" in
  fifo:*) [[ -p ${auth#fifo:} ]] && echo "job server is reachable" ;;
  *,*) [[ -p /proc/self/fd/${auth%,*} && -p /proc/self/fd/${auth#*,} ]] && echo "job server is reachable" ;;
esac
exec "$0.real" "$@"
C
chmod +x "$prefix/bin/btfloom"
for folder in pools embedded; do
  configure "Unix Makefiles" "$folder" -DCMAKE_C_FLAGS=-g
  unset MAKEFLAGS MAKELEVEL MFLAGS
  make -C build -j3 >build.log 2>&1 || { cat build.log; fail "make -j3"; }
  grep -q 'job server is reachable' build.log || { cat build.log; fail "no job server for $folder under make -j3"; }
done
echo "all well"
