#include "tests/unit/elf/elf_builder.h"

#include <filesystem>

namespace btfloom::test {

namespace {

class Writer {
 public:
  explicit Writer(const BuiltObject& object) : object_(object) {}

  template <typename T>
  void number(T value) {
    std::byte bytes[sizeof(T)];
    store(bytes, value, object_.order);
    text.append(reinterpret_cast<const char*>(bytes), sizeof(T));
  }
  // 4 bytes in 32-bit files, 8 in 64-bit ones.
  void word(std::uint64_t value) {
    if (object_.is_64_bit) {
      number<std::uint64_t>(value);
    } else {
      number(static_cast<std::uint32_t>(value));
    }
  }
  void symbol(const BuiltSymbol& symbol) {
    number<std::uint32_t>(0);  // st_name
    if (object_.is_64_bit) {
      number<std::uint8_t>(0);
      number<std::uint8_t>(0);
      number(symbol.section);
      number<std::uint64_t>(symbol.value);
      number<std::uint64_t>(0);
    } else {
      number(static_cast<std::uint32_t>(symbol.value));
      number<std::uint32_t>(0);
      number<std::uint8_t>(0);
      number<std::uint8_t>(0);
      number(symbol.section);
    }
  }
  void relocation(const BuiltRelocation& relocation) {
    word(relocation.offset);
    if (object_.machine == EM_MIPS && object_.is_64_bit) {
      // MIPS64 psABI 2.9: r_sym, r_ssym, r_type3, r_type2, r_type. The test's type has the first in
      // its low byte.
      number(relocation.symbol);
      number<std::uint8_t>(0);
      number(static_cast<std::uint8_t>(relocation.type >> 16));
      number(static_cast<std::uint8_t>(relocation.type >> 8));
      number(static_cast<std::uint8_t>(relocation.type));
    } else if (object_.is_64_bit) {
      number(static_cast<std::uint64_t>(relocation.symbol) << 32 | relocation.type);
    } else {
      number(relocation.symbol << 8 | relocation.type);
    }
    if (object_.has_addends) {
      word(static_cast<std::uint64_t>(relocation.addend));
    }
  }

  std::string text;

 private:
  const BuiltObject& object_;
};

}  // namespace

std::string build_object(const BuiltObject& object) {
  struct Section {
    std::uint32_t name, type;
    std::uint64_t flags;
    std::string contents;
    std::uint32_t link, info;
    std::uint64_t alignment, entry;
  };
  Writer symbols(object);
  symbols.symbol({0, SHN_UNDEF});
  for (const BuiltSymbol& symbol : object.symbols) {
    symbols.symbol(symbol);
  }
  Writer relocations(object);
  for (const BuiltRelocation& relocation : object.relocations) {
    relocations.relocation(relocation);
  }
  const bool is64 = object.is_64_bit;
  using namespace std::string_literals;
  const std::string names = "\0.text\0.debug_info\0.rela.debug_info\0.symtab\0.shstrtab\0"s;
  const std::vector<Section> sections = {
      {0, SHT_NULL, 0, "", 0, 0, 0, 0},
      {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, std::string(16, '\0'), 0, 0, 16, 0},
      {7, SHT_PROGBITS, 0, object.debug_info, 0, 0, 1, 0},
      {19, object.has_addends ? std::uint32_t{SHT_RELA} : std::uint32_t{SHT_REL}, 0,
       relocations.text, 4, 2, 8, 0},
      {36, SHT_SYMTAB, 0, symbols.text, 5, 1, 8, is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)},
      {44, SHT_STRTAB, 0, names, 0, 0, 1, 0}};

  Writer body(object);
  Writer headers(object);
  const std::size_t start = is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
  for (const Section& section : sections) {
    headers.number(section.name);
    headers.number(section.type);
    headers.word(section.flags);
    headers.word(0);
    headers.word(start + body.text.size());
    headers.word(section.contents.size());
    headers.number(section.link);
    headers.number(section.info);
    headers.word(section.alignment);
    headers.word(section.entry);
    body.text += section.contents;
  }
  Writer file(object);
  file.text =
      "\x7f"
      "ELF";
  file.number<std::uint8_t>(is64 ? ELFCLASS64 : ELFCLASS32);
  file.number<std::uint8_t>(object.order == ByteOrder::little ? ELFDATA2LSB : ELFDATA2MSB);
  file.number<std::uint8_t>(EV_CURRENT);
  file.text.resize(EI_NIDENT);
  file.number<std::uint16_t>(ET_REL);
  file.number(object.machine);
  file.number<std::uint32_t>(EV_CURRENT);
  file.word(0);                         // e_entry
  file.word(0);                         // e_phoff
  file.word(start + body.text.size());  // e_shoff
  file.number<std::uint32_t>(0);
  file.number(static_cast<std::uint16_t>(start));
  file.number<std::uint16_t>(0);
  file.number<std::uint16_t>(0);
  file.number<std::uint16_t>(is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
  file.number(static_cast<std::uint16_t>(sections.size()));
  file.number(static_cast<std::uint16_t>(sections.size() - 1));
  return file.text + body.text + headers.text;
}

std::string compile(const TemporaryFolder& folder, std::vector<std::string> command,
                    std::string_view source, std::string_view output) {
  const std::string suffix = source.starts_with("# assembler") ? ".s" : ".c";
  const std::string input = folder.write(std::string(output) + suffix, source);
  std::string path = folder.path(output);
  command.insert(command.end(), {"-o", path, input});
  const CommandResult result = run(command);
  INFO(result.err);
  REQUIRE(result.status == 0);
  return path;
}

ElfImage open_image(const std::string& path) {
  Result<ElfImage> image = ElfImage::open(path);
  INFO(path << ": " << (image.ok() ? "" : image.error().text));
  REQUIRE(image.ok());
  return std::move(image.value());
}

std::string read_text(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return std::string(as_text(bytes));
}

std::string to_hex(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += text.empty() ? "" : " ";
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

}  // namespace btfloom::test
