#!/usr/bin/env bash
# The promises of plugin/btfloom.h: sizes of older and newer callers, statuses, slots, re-entrancy, silence, and that nothing is
# thrown at a caller.
set -euo pipefail
rm -rf work; mkdir work; cd work
flags=(-Wall -Wextra -Werror -pedantic -pthread -I"$BTFLOOM_SOURCE/plugin" -L"$BTFLOOM_BIN/../lib"
       -Wl,-rpath,"$BTFLOOM_BIN/../lib")

objects=()
for i in $(seq 1 20); do
  echo "struct s$i { int a; struct s$i *next; }; int get$i(struct s$i *s); int get$i(struct s$i *s) { return s->a; }" >"unit$i.c"
  gcc -g -c "unit$i.c" -o "unit$i.o"
  objects+=("unit$i.o")
done
gcc -shared -o good.so "${objects[@]}"
gcc -shared -s -o bare.so "${objects[@]}"
"$BTFLOOM_BIN/btfloom" encode -j1 -o want.btf good.so

gcc -std=c11 "${flags[@]}" "$BTFLOOM_SOURCE/tests/build/c_abi.c" -lbtfloom -o c_abi
./c_abi good.so bare.so report >out 2>err || { cat report err; exit 1; }
[[ ! -s out && ! -s err ]] || { echo "the library printed:"; cat out err; exit 1; }
[[ -z $(ls -A | grep '^\.[^.]' || true) ]] || { echo "left behind: $(ls -A)"; exit 1; }

# A callback in C++ may throw what it wants: the call has a status all the same.
cat >throws.cc <<'C'
#include <btfloom.h>
int main(int, char **argv) {
  btfloom_options options = BTFLOOM_OPTIONS_INIT;
  options.inputs = argv + 1;
  options.input_count = 1;
  options.output = "thrown.btf";
  options.on_diagnostic = [](void *, const btfloom_diagnostic *) { throw 42; };
  options.on_progress = [](void *, size_t, size_t) { throw 42; };
  return btfloom_encode(&options, nullptr) == BTFLOOM_ERROR_RESOURCE ? 0 : 1;
}
C
g++ -std=c++17 "${flags[@]}" throws.cc -lbtfloom -o throws
./throws bare.so
./throws good.so
[[ ! -e thrown.btf ]]

# The name of the plugin convention leads to the same function.
cat >alias.c <<'C'
#include <dlfcn.h>
int main(void) {
  void *library = dlopen("libbtfloom.so.0", RTLD_NOW);
  return library && dlsym(library, "encode") && dlsym(library, "encode") == dlsym(library, "btfloom_encode") ? 0 : 1;
}
C
gcc -std=c11 "${flags[@]}" alias.c -o alias
./alias
echo "all well"
