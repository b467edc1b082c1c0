// validate() against the kernel that this test runs on: what it loads with BPF_BTF_LOAD, validate()
// finds nothing wrong with, and the other way round, for thousands of damaged BTFs.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include <bpf/bpf.h>
#include <catch2/catch.hpp>

#include "btf/validate.h"
#include "tests/support/btf_builder.h"
#include "tests/support/encode_file.h"
#include "tests/support/needs.h"

namespace btfloom::test {

namespace {

// Empty if the kernel takes it, else the reason that it gives.
std::string kernel_refusal(const std::vector<std::byte>& bytes) {
  const int fd = bpf_btf_load(bytes.data(), bytes.size(), nullptr);
  if (fd >= 0) {
    close(fd);
    return {};
  }
  std::string log(std::size_t{1} << 20, '\0');
  LIBBPF_OPTS(bpf_btf_load_opts, options);
  options.log_buf = log.data();
  options.log_size = static_cast<__u32>(log.size());
  options.log_level = 1;
  bpf_btf_load(bytes.data(), bytes.size(), &options);
  log.resize(std::strlen(log.c_str()));
  return "refused: " + log.substr(log.size() > 400 ? log.size() - 400 : 0);
}

std::string our_refusal(const std::vector<std::byte>& bytes) {
  const Result<BtfImage> image = BtfImage::parse(bytes, nullptr);
  if (!image.ok()) {
    return image.error().text;
  }
  std::string text;
  for (const Violation& violation : validate(image.value(), {.pointer_size = sizeof(void*)})) {
    text += "[" + std::to_string(violation.type) + "] " + violation.text + "\n";
  }
  return text;
}

bool kernel_loads_btf() {
  BtfBuilder builder;
  builder.add_int();
  return kernel_refusal(builder.bytes()).empty();
}

#define NEEDS_KERNEL()                                                   \
  do {                                                                   \
    if (!kernel_loads_btf()) {                                           \
      std::puts("SKIPPED: needs a kernel that lets this user load BTF"); \
      SUCCEED();                                                         \
      return;                                                            \
    }                                                                    \
  } while (false)

const std::string kSource = R"(
  #define TAG(t) __attribute__((btf_type_tag(t)))
  typedef unsigned int u32;
  typedef const volatile u32 cvu32;
  struct forward;
  struct inner { char c; short s : 5; unsigned long long wide : 40; _Bool flag; };
  union either { float f; double d; cvu32 u; };
  enum color { RED, GREEN = 7, NEGATIVE = -1 };
  enum big { BIG = 0x7fffffffffff };
  struct outer {
    struct outer *restrict next; struct inner array[3][2]; union either e; enum color c;
    enum big b; struct forward *hidden; int (*call)(struct outer *self, u32 n, ...);
    struct { int x, y; }; enum color small : 3; u32 flexible[];
  };
  struct outer *root;
  int __attribute__((section(".data..percpu"))) counter;
  struct inner __attribute__((section(".data..percpu"))) slot = {1};
  int use(struct outer *o, const char *name, u32 n) { return o->c + name[n] + counter; }
  void nothing(void) { use(root, "", 0); }
)";

// Words at which damage goes in, and what each may become.
std::vector<std::byte> damaged(const std::vector<std::byte>& sound, std::mt19937& random) {
  std::vector<std::byte> bytes = sound;
  std::uint32_t types_size = 0;
  std::memcpy(&types_size, bytes.data() + 12, sizeof types_size);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  const std::uint32_t changes = 1 + below(2);
  for (std::uint32_t i = 0; i < changes; ++i) {
    if (below(8) == 0) {  // a character of a name
      const std::size_t at =
          kBtfHeaderSize + types_size +
          below(static_cast<std::uint32_t>(bytes.size() - kBtfHeaderSize - types_size));
      bytes[at] = static_cast<std::byte>(below(256));
      continue;
    }
    const std::size_t at = kBtfHeaderSize + 4 * std::size_t{below(types_size / 4)};
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    switch (below(6)) {
      case 0:
        word = below(40);
        break;
      case 1:
        word += 1;
        break;
      case 2:
        word -= 1;
        break;
      case 3:
        word ^= 1U << below(32);
        break;
      case 4:
        word = (word & 0xe0ffffff) | below(20) << 24;  // another kind
        break;
      default:
        std::memcpy(&word, sound.data() + kBtfHeaderSize + 4 * std::size_t{below(types_size / 4)},
                    sizeof word);
    }
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  return bytes;
}

void compare(const std::vector<std::byte>& sound, unsigned seed, int rounds) {
  REQUIRE(kernel_refusal(sound).empty());
  REQUIRE(our_refusal(sound).empty());
  std::mt19937 random(seed);
  int refused = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::vector<std::byte> bytes = damaged(sound, random);
    const std::string theirs = kernel_refusal(bytes);
    const std::string ours = our_refusal(bytes);
    // The one rule of ours that is stricter: whether the kernel takes it depends on the order.
    if (theirs.empty() && ours.find("refers to a function instead of its") != std::string::npos) {
      continue;
    }
    refused += theirs.empty() ? 0 : 1;
    INFO("seed " << seed << ", round " << i << "\nkernel: " << theirs << "\nvalidate(): " << ours);
    CHECK(theirs.empty() == ours.empty());
  }
  CHECK(refused > rounds / 4);
  CHECK(refused < rounds);
}

}  // namespace

TEST_CASE("what the running kernel takes of thousands of damaged BTFs, validate() takes",
          "[oracle]") {
  NEEDS_KERNEL();
  NEEDS("gcc");
  Program program;
  Features features;
  features.enum64 = true;
  const Encoded gcc = program.encode_source(kSource, {}, features);
  REQUIRE(gcc.ok);
  compare(gcc.btf, 1, 20000);
}

TEST_CASE("the running kernel and validate() agree about tags and odd types", "[oracle]") {
  NEEDS_KERNEL();
  BtfBuilder b;
  const auto i = b.add_int();
  const auto tag = b.add(BtfKind::kTypeTag, "user", {.size_or_type = i});
  const auto tag2 = b.add(BtfKind::kTypeTag, "rcu", {.size_or_type = tag});
  const auto pointer = b.add(BtfKind::kPtr, "", {.size_or_type = tag2});
  const auto real = b.add(BtfKind::kFloat, "double", {.size_or_type = 8});
  const auto s = b.add_struct("s", 16, {{"p", pointer, 0}, {"d", real, 64}});
  b.add(BtfKind::kDeclTag, "field", {.size_or_type = s, .words = {1}});
  b.add(BtfKind::kDeclTag, "whole", {.size_or_type = s, .words = {UINT32_MAX}});
  const auto alias = b.add(BtfKind::kTypedef, "s_t", {.size_or_type = s});
  b.add(BtfKind::kDeclTag, "alias", {.size_or_type = alias, .words = {UINT32_MAX}});
  const auto prototype = b.add_prototype(i, {{"a", pointer}, {"b", alias}});
  const auto f = b.add(BtfKind::kFunc, "f", {.size_or_type = prototype, .count = 1});
  b.add(BtfKind::kDeclTag, "argument", {.size_or_type = f, .words = {1}});
  const auto variable = b.add(BtfKind::kVar, "v", {.size_or_type = s, .words = {1}});
  b.add(BtfKind::kDeclTag, "variable", {.size_or_type = variable, .words = {UINT32_MAX}});
  b.add(BtfKind::kDatasec, ".data", {.size_or_type = 32, .count = 1, .words = {variable, 8, 16}});
  const auto fwd = b.add(BtfKind::kFwd, "u", {.kind_flag = true});
  const auto constant = b.add(BtfKind::kConst, "", {.size_or_type = fwd});
  b.add(BtfKind::kPtr, "", {.size_or_type = constant});
  b.add(BtfKind::kArray, "", {.words = {s, i, 4}});
  b.add(BtfKind::kEnum64, "e", {.size_or_type = 8, .count = 1, .words = {b.text("E"), 1, 2}});
  b.add_struct("bits", 4, {{"x", i, 3U << 24}, {"y", i, 29U << 24 | 3}}, BtfKind::kStruct, true);
  compare(b.bytes(), 2, 20000);
}

}  // namespace btfloom::test
