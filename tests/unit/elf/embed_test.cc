#include "elf/embed.h"

#include <elf.h>
#include <sys/stat.h>

#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/command.h"
#include "tests/support/needs.h"
#include "tests/unit/elf/elf_builder.h"

namespace btfloom {
namespace {

using test::compile;
using test::open_image;
using test::TemporaryFolder;

constexpr const char* kSource = R"(
int puts(const char *);
int counter = 3, zeroed;
int helper(int x) { return x * counter + zeroed; }
int main(void) { puts("it runs"); return helper(14) != 42; }
)";

const std::string kContents(1001, 'b');

// Embeds into the file at `from`, writes the result to `name` in the folder and returns its path.
std::string embed(const TemporaryFolder& folder, const std::string& from, std::string_view name,
                  const std::vector<NewSection>& sections) {
  const ElfImage image = open_image(from);
  const auto bytes = embed_sections(image, sections);
  INFO((bytes.ok() ? "" : bytes.error().text));
  REQUIRE(bytes.ok());
  return folder.write(name, as_text(bytes.value()));
}

std::string embed_btf(const TemporaryFolder& folder, const std::string& from, std::string_view name,
                      const std::string& contents = kContents) {
  return embed(folder, from, name, {{".BTF", as_bytes_of(contents)}});
}

std::string why_not(const std::string& from, const std::string& contents = kContents) {
  const ElfImage image = open_image(from);
  const auto bytes = embed_sections(image, {{".BTF", as_bytes_of(contents)}});
  REQUIRE_FALSE(bytes.ok());
  CHECK(bytes.error().kind == ErrorKind::kInput);
  CHECK(bytes.error().file == from);
  return bytes.error().text;
}

std::string output_of(const std::vector<std::string>& command) {
  const auto result = test::run(command);
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(result.err.empty());  // readelf warns of what it finds odd
  return result.out;
}

// Every section of `before` but the names and .BTF is in `after` under its number, with the same
// header and bytes.
void check_same_sections(const std::string& before, const std::string& after) {
  const ElfImage old_image = open_image(before);
  const ElfImage new_image = open_image(after);
  REQUIRE(new_image.sections().size() >= old_image.sections().size());
  std::uint32_t names = load<std::uint16_t>(
      old_image.bytes().data() + (old_image.is_64_bit() ? 62 : 50), old_image.byte_order());
  names = names == SHN_XINDEX ? old_image.sections()[0].link : names;
  for (const ElfSection& old_section : old_image.sections()) {
    const ElfSection& section = new_image.sections()[old_section.index];
    INFO(old_section.index << " " << old_section.name);
    CHECK(section.name == old_section.name);
    if (old_section.name == ".BTF" || old_section.index == names || old_section.index == 0) {
      continue;
    }
    CHECK(section.type == old_section.type);
    CHECK(section.flags == old_section.flags);
    CHECK(section.address == old_section.address);
    CHECK(section.offset == old_section.offset);
    CHECK(section.size == old_section.size);
    CHECK(section.link == old_section.link);
    CHECK(section.info == old_section.info);
    CHECK(section.entry_size == old_section.entry_size);
    CHECK(section.alignment == old_section.alignment);
    CHECK(as_text(new_image.raw(section)) == as_text(old_image.raw(old_section)));
  }
}

std::string section_bytes(const std::string& path, std::string_view name) {
  const ElfImage image = open_image(path);
  const ElfSection* section = image.find(name);
  REQUIRE(section != nullptr);
  return std::string(as_text(image.raw(*section)));
}

TEST_CASE("A program with .BTF added runs, and every other section is as it was", "[unit][elf]") {
  NEEDS("gcc");
  NEEDS("readelf");
  const TemporaryFolder folder;
  const std::string before = compile(folder, {"gcc", "-g"}, kSource, "before");
  const std::string after = embed_btf(folder, before, "after");
  check_same_sections(before, after);
  CHECK(section_bytes(after, ".BTF") == kContents);
  REQUIRE(chmod(after.c_str(), 0700) == 0);
  CHECK(output_of({after}) == "it runs\n");
  for (const char* what : {"-lW", "-rW", "-sW", "-dW", "-nW"}) {
    CHECK(output_of({"readelf", what, before}) == output_of({"readelf", what, after}));
  }
  // As objcopy --add-section makes it.
  const ElfImage image = open_image(after);
  const ElfSection& added = image.sections().back();
  CHECK(added.name == ".BTF");
  CHECK((added.type == SHT_PROGBITS && added.flags == 0 && added.address == 0));
  CHECK(added.alignment == 1);
}

TEST_CASE("Other tools take the file: objcopy, strip and a linker", "[unit][elf]") {
  NEEDS("gcc");
  NEEDS("objcopy");
  NEEDS("strip");
  const TemporaryFolder folder;
  const std::string object =
      embed_btf(folder, compile(folder, {"gcc", "-g", "-c"}, kSource, "a.o"), "b.o");
  output_of(
      {"objcopy", "--dump-section", ".BTF=" + folder.path("dump"), object, folder.path("copy")});
  CHECK(test::read_text(folder.path("dump")) == kContents);
  output_of({"gcc", object, "-o", folder.path("linked")});
  CHECK(output_of({folder.path("linked")}) == "it runs\n");
  const std::string program =
      embed_btf(folder, compile(folder, {"gcc", "-g"}, kSource, "a"), "program");
  output_of({"strip", "-g", program});
  CHECK(section_bytes(program, ".BTF") == kContents);
}

TEST_CASE("Objects of every class and byte order keep their sections", "[unit][elf]") {
  NEEDS("clang-14");
  NEEDS("readelf");
  const TemporaryFolder folder;
  for (const char* target : {"x86_64-linux-gnu", "i386-linux-gnu", "mips-linux-gnu",
                             "s390x-linux-gnu", "arm-linux-gnueabi", "powerpc64-linux-gnu"}) {
    INFO(target);
    const std::string before = compile(
        folder, {"clang-14", std::string("--target=") + target, "-g", "-c"}, kSource, "before.o");
    const std::string after = embed_btf(folder, before, "after.o");
    check_same_sections(before, after);
    CHECK(section_bytes(after, ".BTF") == kContents);
    CHECK(output_of({"readelf", "-sW", before}) == output_of({"readelf", "-sW", after}));
    CHECK(output_of({"readelf", "-rW", before}) == output_of({"readelf", "-rW", after}));
  }
}

TEST_CASE("Embedding again gives the bytes of embedding once", "[unit][elf]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("ld.lld-14");
  NEEDS("objcopy");
  const TemporaryFolder folder;
  std::vector<std::string> files = {
      compile(folder, {"gcc", "-g"}, kSource, "linked"),
      compile(folder, {"gcc", "-s"}, kSource, "stripped"),
      compile(folder, {"gcc", "-g", "-c"}, kSource, "object"),
      compile(folder, {"clang-14", "-fuse-ld=lld", "-g"}, kSource, "lld"),
      compile(folder, {"clang-14", "--target=mips-linux-gnu", "-g", "-c"}, kSource, "clang")};
  // With a .BTF in the middle that another tool has left.
  files.push_back(folder.path("had_btf"));
  output_of({"objcopy", "--add-section", ".BTF=" + folder.write("old", "old BTF"), files[0],
             files.back()});
  for (const std::string& file : files) {
    for (const std::uint64_t alignment : {1, 8, 64}) {
      INFO(file << " alignment " << alignment);
      const auto with = [&](const std::string& from, std::string_view name,
                            const std::string& text) {
        return embed(folder, from, name, {{".BTF", as_bytes_of(text), alignment}});
      };
      const std::string once = with(file, "once", kContents);
      const std::string twice = with(once, "twice", kContents);
      CHECK(test::read_text(once) == test::read_text(twice));
      // Longer, shorter, empty in between: the way there leaves no trace.
      const std::string longer = with(once, "longer", std::string(50000, 'l'));
      const std::string shorter = with(longer, "shorter", kContents);
      CHECK(test::read_text(once) == test::read_text(shorter));
      check_same_sections(file, shorter);
      const std::string empty = with(longer, "empty", "");
      const std::string back = with(empty, "back", kContents);
      // One in the middle leaves its number behind, unused, for the others keep theirs; once.
      const std::string& first = file == files.back() ? back : once;
      const std::string again = with(with(back, "empty_again", ""), "again", kContents);
      CHECK(test::read_text(first) == test::read_text(again));
    }
  }
}

TEST_CASE("Several sections are added at once and replaced one by one", "[unit][elf]") {
  NEEDS("gcc");
  const TemporaryFolder folder;
  const std::string before = compile(folder, {"gcc", "-g"}, kSource, "before");
  const std::vector<NewSection> both = {{".BTF", as_bytes_of("types"), 8},
                                        {".BTF.base", as_bytes_of("distilled base"), 8}};
  const std::string after = embed(folder, before, "after", both);
  CHECK(section_bytes(after, ".BTF") == "types");
  CHECK(section_bytes(after, ".BTF.base") == "distilled base");
  CHECK(open_image(after).find(".BTF.base")->offset % 8 == 0);
  check_same_sections(before, after);
  CHECK(test::read_text(embed(folder, after, "again", both)) == test::read_text(after));
  const std::string changed = embed_btf(folder, after, "changed");
  CHECK(section_bytes(changed, ".BTF") == kContents);
  CHECK(section_bytes(changed, ".BTF.base") == "distilled base");
}

TEST_CASE("Of two sections with the name the first is replaced, and the other stays",
          "[unit][elf]") {
  // Stripped, so that both stand at the end of the file, where what is replaced is cut off.
  NEEDS("gcc");
  NEEDS("objcopy");
  const TemporaryFolder folder;
  const std::string before = compile(folder, {"gcc", "-s"}, kSource, "before");
  output_of({"objcopy", "--add-section", ".BTF=" + folder.write("1", "first"), "--add-section",
             ".BTX=" + folder.write("2", "second"), before, folder.path("two")});
  std::string file = test::read_text(folder.path("two"));
  file.replace(file.rfind(".BTX"), 4, ".BTF");
  const std::string same = folder.write("same", file);
  // objcopy decides which of the two comes first.
  const std::string other = section_bytes(same, ".BTF") == "first" ? "second" : "first";
  const ElfImage image = open_image(embed_btf(folder, same, "after"));
  std::vector<std::string_view> contents;
  for (const ElfSection& section : image.sections()) {
    if (section.name == ".BTF") {
      contents.push_back(as_text(image.raw(section)));
    }
  }
  CHECK(contents == std::vector<std::string_view>{kContents, other});
}

TEST_CASE("Bytes behind the last section stay where they are", "[unit][elf]") {
  NEEDS("gcc");
  const TemporaryFolder folder;
  const std::string plain = test::read_text(compile(folder, {"gcc"}, kSource, "plain"));
  for (const std::string& payload :
       {std::string("payload of an installer"), std::string(5000, '\0'), std::string("x")}) {
    const std::string before = folder.write("before", plain + payload);
    const std::string once = embed_btf(folder, before, "once");
    CHECK(test::read_text(once).substr(plain.size(), payload.size()) == payload);
    const std::string longer = embed_btf(folder, once, "longer", std::string(7000, 'l'));
    const std::string twice = embed_btf(folder, longer, "twice");
    CHECK(test::read_text(twice) == test::read_text(once));
    check_same_sections(before, twice);
  }
}

TEST_CASE("A .BTF that is loaded into memory keeps its place, or is refused", "[unit][elf]") {
  NEEDS("gcc");
  const TemporaryFolder folder;
  const std::string source =
      std::string("__attribute__((section(\".BTF\"), used)) const char btf[100] = \"old\";\n") +
      kSource;
  const std::string before = compile(folder, {"gcc", "-g"}, source, "before");
  const ElfSection old = *open_image(before).find(".BTF");
  REQUIRE((old.flags & SHF_ALLOC) != 0);
  CHECK(why_not(before) ==
        "section .BTF is loaded into memory and has 100 bytes, but 1001 are needed; link the file "
        "without it, or write a detached BTF");

  const std::string after = embed_btf(folder, before, "after", "new contents");
  const ElfImage image = open_image(after);
  const ElfSection* section = image.find(".BTF");
  CHECK((section->offset == old.offset && section->address == old.address));
  CHECK(as_text(image.raw(*section)) == "new contents");
  CHECK(image.bytes().size() == open_image(before).bytes().size());
  const std::string rest(100 - 12, '\0');
  CHECK(as_text(image.bytes().subspan(old.offset + 12, rest.size())) == rest);
  check_same_sections(before, after);
  REQUIRE(chmod(after.c_str(), 0700) == 0);
  CHECK(output_of({after}) == "it runs\n");
}

TEST_CASE("The section that makes the count too large for the ELF header is added", "[unit][elf]") {
  NEEDS("as");
  NEEDS("readelf");
  const TemporaryFolder folder;
  // as adds null, .text, .data, .bss, .symtab, .strtab, .shstrtab and, from 0xff00 on,
  // .symtab_shndx.
  for (const int count : {0xff00 - 8, 0xff00 - 7, 0xff00 + 100}) {
    std::string source = "# assembler\n";
    for (int i = 0; i < count; ++i) {
      source += ".section .s" + std::to_string(i) + ",\"\"\n.byte 1\n";
    }
    const std::string before = compile(folder, {"as"}, source, "before.o");
    const std::size_t sections = open_image(before).sections().size();
    INFO(count << ": " << sections);
    const std::string after = embed_btf(folder, before, "after.o");
    const ElfImage image = open_image(after);
    REQUIRE(image.sections().size() == sections + 1);
    CHECK(image.sections().back().name == ".BTF");
    CHECK(as_text(image.raw(image.sections().back())) == kContents);
    CHECK(image.find(".s" + std::to_string(count - 1)) != nullptr);
    const bool is_extended = sections + 1 >= SHN_LORESERVE;
    CHECK(load<std::uint16_t>(image.bytes().data() + 60, ByteOrder::little) ==
          (is_extended ? 0 : sections + 1));
    CHECK(image.sections()[0].size == (is_extended ? sections + 1 : 0));
    const std::string listing = output_of({"readelf", "-hW", after});
    CHECK(listing.find(is_extended ? "0 (" + std::to_string(sections + 1) + ")"
                                   : std::to_string(sections + 1)) != std::string::npos);
    CHECK(test::read_text(embed_btf(folder, after, "again.o")) == test::read_text(after));
  }
}

// Offsets in Elf64_Ehdr: e_phoff 32, e_phentsize 54, e_phnum 56.
TEST_CASE("A damaged program header table is an error", "[unit][elf]") {
  NEEDS("gcc");
  const TemporaryFolder folder;
  std::string plain = test::read_text(compile(folder, {"gcc"}, kSource, "plain"));
  plain.resize((plain.size() + 4095) / 4096 * 4096);  // so that reading on leaves the mapping
  const auto damaged = [&](auto change) {
    std::string file = plain;
    change(reinterpret_cast<std::byte*>(file.data()));
    return why_not(folder.write("damaged", file));
  };
  const std::string text = "the program header table is damaged or truncated; rebuild the file";
  constexpr ByteOrder kLittle = ByteOrder::little;
  CHECK(damaged([&](std::byte* file) { store(file + 32, ~std::uint64_t{0}, kLittle); }) == text);
  CHECK(damaged([&](std::byte* file) { store(file + 54, std::uint16_t{0}, kLittle); }) == text);
  CHECK(damaged([&](std::byte* file) { store(file + 56, std::uint16_t{0xfffe}, kLittle); }) ==
        text);
  CHECK(damaged([&](std::byte* file) {
          store(file + 32, std::uint64_t{plain.size() - 1}, kLittle);
          store(file + 54, std::uint16_t{1}, kLittle);
          store(file + 56, std::uint16_t{1}, kLittle);
        }) == text);
}

TEST_CASE("A segment that claims more than there is does not lose anything", "[unit][elf]") {
  NEEDS("gcc");
  const TemporaryFolder folder;
  std::string file = test::read_text(compile(folder, {"gcc"}, kSource, "plain"));
  auto* bytes = reinterpret_cast<std::byte*>(file.data());
  const auto table = load<std::uint64_t>(bytes + 32, ByteOrder::little);
  store(bytes + table + 8, std::uint64_t{64}, ByteOrder::little);   // p_offset
  store(bytes + table + 32, ~std::uint64_t{0}, ByteOrder::little);  // p_filesz
  const std::string before = folder.write("before", file);
  const std::string once = embed_btf(folder, before, "once");
  // Of what it covers nothing is cut off; only the ELF header in front of it changes.
  CHECK(test::read_text(once).substr(64, file.size() - 64) == file.substr(64));
  check_same_sections(before, once);
}

TEST_CASE("Section headers of an unknown size are an error", "[unit][elf]") {
  std::string file = test::build_object({.debug_info = "12345678"});
  file[58] = 72;  // e_shentsize
  const TemporaryFolder folder;
  CHECK(why_not(folder.write("a.o", file)) ==
        "the file has no section header table to add a section to; write a detached BTF instead");
}

TEST_CASE("No byte of the headers, whatever its value, makes embedding unsafe", "[unit][elf]") {
  const std::string file = test::build_object({.debug_info = "12345678", .symbols = {{0, 1}}});
  const TemporaryFolder folder;
  int embedded = 0;
  for (std::size_t at = 4; at < file.size(); ++at) {
    for (const char value : {'\0', '\1', '\x7f', '\xff'}) {
      std::string damaged = file;
      damaged[at] = value;
      const auto image = ElfImage::open(folder.write("a.o", damaged));
      if (!image.ok()) {
        continue;
      }
      const auto bytes = embed_sections(image.value(), {{".BTF", as_bytes_of(kContents)}});
      embedded += bytes.ok();
      CHECK((!bytes.ok() || bytes.value().size() < file.size() + 2 * kContents.size()));
    }
  }
  CHECK(embedded > 0);
}

}  // namespace
}  // namespace btfloom
