// ElfImage: an ELF file opened for reading: class, byte order, machine, sections, symbols.
//
//   const ElfImage image = TRY(ElfImage::open("vmlinux"));
//   const ElfSection* section = image.find(".debug_info");
//   const SectionBytes info = TRY(debug_section(image, ".debug_info"));
//
// Headers are read through libelf (32- and 64-bit, both byte orders, more than 65,279 sections;
// gABI "Sections"). The file is mapped read-only; everything handed out is a view into the mapping
// and lives as long as the image. Const after open(), so any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "elf/mapped_file.h"
#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

struct ElfSection {
  std::string_view name = {};
  std::uint32_t index = 0;
  std::uint32_t type = 0;     // SHT_*
  std::uint64_t flags = 0;    // SHF_*
  std::uint64_t address = 0;  // sh_addr; ET_REL: laid out from 0x10000 (see sections() below)
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t entry_size = 0;
  std::uint64_t alignment = 0;
};

// One entry of .symtab in symbol table order.
struct ElfSymbol {
  std::string_view name = {};
  std::uint64_t value = 0;  // st_value as stored (section-relative in ET_REL)
  std::uint64_t size = 0;
  std::uint32_t section =
      0;  // real section index (SHN_XINDEX resolved); SHN_* kept for reserved ones
  bool is_in_section =
      false;  // `section` is an index: beyond 65,279 sections the number alone cannot tell
  std::uint8_t type = 0;     // STT_*
  std::uint8_t binding = 0;  // STB_*
};

class ElfImage {
 public:
  // Opens and maps `path`. Errors (kInput, file set): missing, unreadable, a folder, empty, not
  // ELF, truncated headers or section contents past the end of the file. Each message says what to
  // do.
  static Result<ElfImage> open(const std::string& path);

  ElfImage(ElfImage&&) noexcept;
  ElfImage& operator=(ElfImage&&) noexcept;
  ~ElfImage();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Bytes bytes() const { return file_.bytes(); }
  [[nodiscard]] ByteOrder byte_order() const { return byte_order_; }
  [[nodiscard]] bool is_64_bit() const { return is_64_bit_; }
  [[nodiscard]] unsigned address_size() const { return is_64_bit_ ? 8 : 4; }
  [[nodiscard]] std::uint16_t machine() const { return machine_; }  // EM_*
  [[nodiscard]] std::uint16_t type() const { return type_; }        // ET_*
  [[nodiscard]] bool is_relocatable() const;                        // ET_REL

  // All sections, index 0 included. In ET_REL files every SHF_ALLOC section is given an address:
  // laid out in section order from 0x10000, each aligned, so that no two overlap; non-alloc
  // sections keep 0.
  [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
  // First section of that name, or nullptr.
  [[nodiscard]] const ElfSection* find(std::string_view name) const;

  // The raw bytes of a section as stored in the file (empty for SHT_NOBITS).
  [[nodiscard]] Bytes raw(const ElfSection& section) const;

  // Entries of the section named .symtab (index 0 included), empty if there is none. `has_symtab()`
  // tells the two apart.
  [[nodiscard]] Result<std::vector<ElfSymbol>> symbols() const;
  [[nodiscard]] bool has_symtab() const;

 private:
  ElfImage() = default;
  Result<> read_sections(void* handle);  // an Elf* of libelf
  Result<> check_table(void* handle, std::size_t count) const;
  [[nodiscard]] bool is_inside(const ElfSection& section) const;
  void lay_out();
  [[nodiscard]] ElfSymbol read_symbol64(const std::byte* record) const;
  [[nodiscard]] ElfSymbol read_symbol32(const std::byte* record) const;
  // const after open()
  std::string path_;
  MappedFile file_;
  std::vector<ElfSection> sections_;
  ByteOrder byte_order_ = ByteOrder::little;
  bool is_64_bit_ = true;
  std::uint16_t machine_ = 0;
  std::uint16_t type_ = 0;
};

}  // namespace btfloom
