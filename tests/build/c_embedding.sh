#!/usr/bin/env bash
# The C example builds as strict C11 against the installed library, through CMake and through pkg-config, and works. The header is
# good C++ too.
set -euo pipefail
rm -rf prefix build
cmake --install "$BTFLOOM_BIN/.." --prefix "$PWD/prefix" >/dev/null
cmake -G Ninja -S "$BTFLOOM_SOURCE/examples/c-embedding" -B build \
  -DCMAKE_PREFIX_PATH="$PWD/prefix" >/dev/null
cmake --build build
echo 'struct s { int a; } s; int main(void) { return s.a; }' >input.c
gcc -g input.c -o input
./build/embed out.btf input | grep -E '^[0-9]+ types, 1 functions'
grep -q "STRUCT 's' size=4" <(bpftool btf dump file out.btf)

# Failures are statuses, and nothing is left.
status=0; ./build/embed none.btf /nonexistent 2>message || status=$?
[[ $status -eq 1 && ! -e none.btf ]]
grep -q '/nonexistent: cannot open the input' message

# The alias that the plugin convention asks for, and nothing else, is exported.
nm -D --defined-only "$PWD"/prefix/lib*/libbtfloom.so | awk '$2 == "T" {print $3}' | sort >exported
diff exported - <<'X'
btfloom_encode@@BTFLOOM_0.1
btfloom_feature_name@@BTFLOOM_0.1
btfloom_language_code@@BTFLOOM_0.1
btfloom_parse_features@@BTFLOOM_0.1
encode@@BTFLOOM_0.1
X

export PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig
# shellcheck disable=SC2046
gcc -std=c11 -pedantic -Wall -Wextra -Werror "$BTFLOOM_SOURCE/examples/c-embedding/main.c" \
  $(pkg-config --cflags --libs btfloom) -Wl,-rpath,"$PWD/prefix/lib" -o by_pkg_config
./by_pkg_config again.btf input
cmp out.btf again.btf
printf '#include <btfloom.h>\nint main() { btfloom_options o = BTFLOOM_OPTIONS_INIT; btfloom_result r = BTFLOOM_RESULT_INIT; return btfloom_encode(&o, &r) == BTFLOOM_ERROR_ARGUMENT ? 0 : 1; }\n' >header.cc
# shellcheck disable=SC2046
g++ -std=c++17 -Wall -Wextra -Werror header.cc $(pkg-config --cflags --libs btfloom) \
  -Wl,-rpath,"$PWD/prefix/lib" -o header
./header
