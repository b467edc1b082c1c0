#include "elf/image.h"

#include <algorithm>
#include <utility>

#include <gelf.h>
#include <libelf.h>

#include "support/reader.h"

namespace btfloom {

namespace {

// Where the kernel's and everybody's tools start to lay out relocatable files (libdwfl:
// OFFLINE_REDZONE).
constexpr std::uint64_t kFirstAddress = 0x10000;

Error input_error(const std::string& path, std::string text) {
  return Error{.kind = ErrorKind::kInput, .text = std::move(text), .file = path};
}

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

}  // namespace

ElfImage::ElfImage(ElfImage&&) noexcept = default;
ElfImage& ElfImage::operator=(ElfImage&&) noexcept = default;
ElfImage::~ElfImage() = default;

bool ElfImage::is_relocatable() const {
  return type_ == ET_REL;
}

Result<ElfImage> ElfImage::open(const std::string& path) {
  ElfImage image;
  image.path_ = path;
  image.file_ = TRY(MappedFile::open(path));
  const Bytes bytes = image.file_.bytes();
  if (bytes.size() < SELFMAG || as_text(bytes.first(SELFMAG)) != ELFMAG) {
    return input_error(path,
                       "not an ELF file; name an object, a library, an executable or a vmlinux");
  }
  elf_version(EV_CURRENT);
  // elf_memory() wants a writable pointer but only reads through it.
  const ElfHandle elf(
      elf_memory(const_cast<char*>(reinterpret_cast<const char*>(bytes.data())), bytes.size()));
  GElf_Ehdr header;
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF ||
      gelf_getehdr(elf.get(), &header) == nullptr) {
    return input_error(path, "the ELF header is damaged or truncated; rebuild the file");
  }
  image.is_64_bit_ = gelf_getclass(elf.get()) == ELFCLASS64;
  image.byte_order_ = header.e_ident[EI_DATA] == ELFDATA2MSB ? ByteOrder::big : ByteOrder::little;
  image.machine_ = header.e_machine;
  image.type_ = header.e_type;
  TRY(image.read_sections(elf.get()));
  if (image.is_relocatable()) {
    image.lay_out();
  }
  return image;
}

Result<> ElfImage::read_sections(void* handle) {
  Elf* elf = static_cast<Elf*>(handle);
  std::size_t count = 0;
  std::size_t name_section = 0;
  if (elf_getshdrnum(elf, &count) != 0 || elf_getshdrstrndx(elf, &name_section) != 0) {
    return input_error(path_, "the section header table is damaged or truncated; rebuild the file");
  }
  TRY(check_table(elf, count));
  sections_.reserve(count);
  std::vector<std::uint32_t> name_offsets;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Shdr header;
    if (gelf_getshdr(elf_getscn(elf, i), &header) == nullptr) {
      return input_error(path_, "the section header table is truncated; rebuild the file");
    }
    ElfSection section{.name = {},
                       .index = static_cast<std::uint32_t>(i),
                       .type = header.sh_type,
                       .flags = header.sh_flags,
                       .address = header.sh_addr,
                       .offset = header.sh_offset,
                       .size = header.sh_size,
                       .link = header.sh_link,
                       .info = header.sh_info,
                       .entry_size = header.sh_entsize,
                       .alignment = header.sh_addralign};
    sections_.push_back(section);
    name_offsets.push_back(header.sh_name);
  }
  if (name_section >= sections_.size()) {
    return input_error(path_, "the file has no sections, so it has no DWARF; rebuild it");
  }
  // The names before the bounds of the others, so that a message can name the section.
  if (is_inside(sections_[name_section]) && !raw(sections_[name_section]).empty()) {
    const Reader names(raw(sections_[name_section]), byte_order_);
    for (std::size_t i = 0; i < count; ++i) {
      Reader at = names;
      at.skip(name_offsets[i]);
      sections_[i].name = at.string();
    }
  }
  for (const ElfSection& section : sections_) {
    if (!is_inside(section)) {
      return input_error(path_, "the file is truncated: section " + std::to_string(section.index) +
                                    (section.name.empty() ? "" : " ") + std::string(section.name) +
                                    " ends behind the end of the file; rebuild it");
    }
  }
  return {};
}

// libelf takes a table behind the end of the file for no table at all.
Result<> ElfImage::check_table(void* handle, std::size_t count) const {
  GElf_Ehdr header;
  const bool is_read = gelf_getehdr(static_cast<Elf*>(handle), &header) != nullptr;
  const std::size_t entry = is_64_bit_ ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
  const std::size_t size = bytes().size();
  if (!is_read || header.e_shoff > size || (size - header.e_shoff) / entry < count ||
      (header.e_shoff != 0 && count == 0)) {
    return input_error(path_,
                       "the file is truncated: its section header table is behind the end; "
                       "rebuild it");
  }
  return {};
}

bool ElfImage::is_inside(const ElfSection& section) const {
  const std::size_t size = bytes().size();
  return section.type == SHT_NOBITS || section.type == SHT_NULL ||
         (section.offset <= size && section.size <= size - section.offset);
}

void ElfImage::lay_out() {
  std::uint64_t next = kFirstAddress;
  for (ElfSection& section : sections_) {
    if ((section.flags & SHF_ALLOC) == 0) {
      continue;
    }
    const std::uint64_t alignment = std::max<std::uint64_t>(section.alignment, 1);
    next = (next + alignment - 1) / alignment * alignment;
    section.address = next;
    next += section.size;
  }
}

const ElfSection* ElfImage::find(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const ElfSection& s) { return s.name == name; });
  return found != sections_.end() ? &*found : nullptr;
}

Bytes ElfImage::raw(const ElfSection& section) const {
  return section.type == SHT_NOBITS || section.type == SHT_NULL
             ? Bytes{}
             : bytes().subspan(section.offset, section.size);
}

bool ElfImage::has_symtab() const {
  const ElfSection* section = find(".symtab");
  return section != nullptr && section->type == SHT_SYMTAB;
}

Result<std::vector<ElfSymbol>> ElfImage::symbols() const {
  std::vector<ElfSymbol> symbols;
  const ElfSection* section = find(".symtab");
  if (section == nullptr || section->type != SHT_SYMTAB) {
    return symbols;
  }
  if (section->link >= sections_.size()) {
    return input_error(path_, ".symtab has no string table; the file is damaged, rebuild it");
  }
  const Bytes names = raw(sections_[section->link]);
  if (!names.empty() && names.back() != std::byte{0}) {
    return input_error(path_,
                       "the string table of .symtab does not end with a NUL; rebuild the file");
  }
  Bytes extended;
  for (const ElfSection& other : sections_) {
    if (other.type == SHT_SYMTAB_SHNDX && other.link == section->index) {
      extended = raw(other);
    }
  }
  const std::size_t entry = is_64_bit_ ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
  const Bytes table = raw(*section);
  symbols.reserve(table.size() / entry);
  for (std::size_t at = 0; at + entry <= table.size(); at += entry) {
    const std::byte* record = table.data() + at;
    ElfSymbol symbol = is_64_bit_ ? read_symbol64(record) : read_symbol32(record);
    const std::size_t index_at = at / entry * 4;
    symbol.is_in_section = symbol.section != SHN_UNDEF && symbol.section < SHN_LORESERVE;
    if (symbol.section == SHN_XINDEX && index_at + 4 <= extended.size()) {
      symbol.section = load<std::uint32_t>(extended.data() + index_at, byte_order_);
      symbol.is_in_section = true;
    }
    const auto name = load<std::uint32_t>(record, byte_order_);  // st_name comes first in both
    symbol.name = name < names.size() ? reinterpret_cast<const char*>(names.data()) + name : "";
    symbols.push_back(symbol);
  }
  return symbols;
}

// gABI "Symbol Table", Elf64_Sym: name 0, info 4, other 5, shndx 6, value 8, size 16.
ElfSymbol ElfImage::read_symbol64(const std::byte* record) const {
  const auto info = static_cast<std::uint8_t>(record[4]);
  return {.value = load<std::uint64_t>(record + 8, byte_order_),
          .size = load<std::uint64_t>(record + 16, byte_order_),
          .section = load<std::uint16_t>(record + 6, byte_order_),
          .type = static_cast<std::uint8_t>(info & 0xf),
          .binding = static_cast<std::uint8_t>(info >> 4)};
}

// Elf32_Sym: name 0, value 4, size 8, info 12, other 13, shndx 14.
ElfSymbol ElfImage::read_symbol32(const std::byte* record) const {
  const auto info = static_cast<std::uint8_t>(record[12]);
  return {.value = load<std::uint32_t>(record + 4, byte_order_),
          .size = load<std::uint32_t>(record + 8, byte_order_),
          .section = load<std::uint16_t>(record + 14, byte_order_),
          .type = static_cast<std::uint8_t>(info & 0xf),
          .binding = static_cast<std::uint8_t>(info >> 4)};
}

}  // namespace btfloom
