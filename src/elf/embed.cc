#include "elf/embed.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace btfloom {

namespace {

// Offsets of what is patched, in Elf32_Ehdr, Elf64_Ehdr, Elf32_Shdr and Elf64_Shdr (gABI).
struct Layout {
  std::size_t word;
  std::size_t e_phoff, e_shoff, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx;
  std::size_t file_header_size, program_header_size, header_size;
  std::size_t p_offset, p_filesz;
  std::size_t sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info,
      sh_addralign, sh_entsize;
};
// clang-format off
constexpr Layout kLayout32 = {4, 28, 32, 42, 44, 46, 48, 50, 52, 32, 40, 4, 16,
                              0, 4, 8, 12, 16, 20, 24, 28, 32, 36};
constexpr Layout kLayout64 = {8, 32, 40, 54, 56, 58, 60, 62, 64, 56, 64, 8, 32,
                              0, 4, 8, 16, 24, 32, 40, 44, 48, 56};
// clang-format on
static_assert(kLayout32.header_size == sizeof(Elf32_Shdr) &&
              kLayout64.header_size == sizeof(Elf64_Shdr));
static_assert(kLayout32.program_header_size == sizeof(Elf32_Phdr) &&
              kLayout64.program_header_size == sizeof(Elf64_Phdr));

// A piece of the file, [begin, end).
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class Embedding {
 public:
  explicit Embedding(const ElfImage& image)
      : image_(image),
        layout_(image.is_64_bit() ? kLayout64 : kLayout32),
        order_(image.byte_order()) {}

  Result<std::vector<std::byte>> run(const std::vector<NewSection>& sections) {
    const Bytes file = image_.bytes();
    TRY(find_tables());
    bytes_.assign(file.begin(), file.end());
    headers_.assign(file.begin() + static_cast<std::ptrdiff_t>(table_offset_),
                    file.begin() + static_cast<std::ptrdiff_t>(table_offset_ + table_size()));
    for (const NewSection& section : sections) {
      const ElfSection* old = image_.find(section.name);
      if (old != nullptr && (old->flags & SHF_ALLOC) != 0) {
        TRY(overwrite_loaded(*old, section));
        continue;
      }
      if (old != nullptr) {
        replaced_.push_back(old->index);
      }
      if (!section.contents.empty()) {
        moving_.push_back(section);
      } else if (old != nullptr) {
        remove(*old);
      }
    }
    if (!moving_.empty() || !replaced_.empty()) {
      bytes_.resize(TRY(cut()));
      append();
    }
    return std::move(bytes_);
  }

 private:
  // Of the new table; of the old one until sections come and go.
  [[nodiscard]] std::size_t table_size() const { return count_ * layout_.header_size; }

  std::uint64_t get(const std::byte* at, std::size_t bytes) const {
    return bytes == 2   ? load<std::uint16_t>(at, order_)
           : bytes == 4 ? load<std::uint32_t>(at, order_)
                        : load<std::uint64_t>(at, order_);
  }
  void put(std::byte* at, std::size_t bytes, std::uint64_t value) const {
    if (bytes == 2) {
      store(at, static_cast<std::uint16_t>(value), order_);
    } else if (bytes == 4) {
      store(at, static_cast<std::uint32_t>(value), order_);
    } else {
      store(at, value, order_);
    }
  }
  std::byte* header(std::size_t index) { return headers_.data() + index * layout_.header_size; }

  Result<> find_tables() {
    const Bytes file = image_.bytes();
    table_offset_ = get(file.data() + layout_.e_shoff, layout_.word);
    count_ = image_.sections().size();
    const std::uint64_t entry = get(file.data() + layout_.e_shentsize, 2);
    if (count_ == 0 || entry != layout_.header_size || table_offset_ > file.size() ||
        file.size() - table_offset_ < table_size()) {
      return Error{.kind = ErrorKind::kInput,
                   .text =
                       "the file has no section header table to add a section to; "
                       "write a detached BTF instead",
                   .file = image_.path()};
    }
    names_index_ = get(file.data() + layout_.e_shstrndx, 2);
    if (names_index_ == SHN_XINDEX) {
      names_index_ = image_.sections()[0].link;
    }
    if (names_index_ >= count_) {
      return Error{.kind = ErrorKind::kInput,
                   .text = "the file has no section names; write a detached BTF instead",
                   .file = image_.path()};
    }
    return {};
  }

  // In its old place; what is left over there becomes zeros.
  Result<> overwrite_loaded(const ElfSection& old, const NewSection& section) {
    if (old.type == SHT_NOBITS || section.contents.size() > old.size) {
      return Error{.kind = ErrorKind::kInput,
                   .text = "section " + std::string(section.name) +
                           " is loaded into memory and has " + std::to_string(old.size) +
                           " bytes, but " + std::to_string(section.contents.size()) +
                           " are needed; link the file without it, or write a detached BTF",
                   .file = image_.path()};
    }
    const auto start = bytes_.begin() + static_cast<std::ptrdiff_t>(old.offset);
    std::fill(start, start + static_cast<std::ptrdiff_t>(old.size), std::byte{0});
    std::copy(section.contents.begin(), section.contents.end(), start);
    put(bytes_.data() + table_offset_ + old.index * layout_.header_size + layout_.sh_size,
        layout_.word, section.contents.size());
    put(header(old.index) + layout_.sh_size, layout_.word, section.contents.size());
    return {};
  }

  // The numbers of the other sections stay, for symbols and headers cite them.
  void remove(const ElfSection& old) {
    if (old.index + 1 != count_) {
      std::fill_n(header(old.index), layout_.header_size, std::byte{0});
      return;
    }
    // As an earlier call appended it; then its name is the last one.
    const Bytes names = image_.raw(image_.sections()[names_index_]);
    const std::uint64_t name = get(header(old.index) + layout_.sh_name, 4);
    if (name != 0 && name + old.name.size() + 1 == names.size() &&
        names[name - 1] == std::byte{0}) {
      names_size_ = name;
    }
    --count_;
    headers_.resize(table_size());
  }

  [[nodiscard]] bool is_replaced(const ElfSection& section) const {
    return std::find(replaced_.begin(), replaced_.end(), section.index) != replaced_.end();
  }

  // Where the old file is cut off. The section header table, the section names and the replaced
  // sections are written anew, so they need not stay; they are taken away from the end as long as
  // nothing but alignment stands between them. Whatever else is there stays, above all bytes that
  // no header mentions (installers and interpreters append their payload to an executable).
  Result<std::uint64_t> cut() const {
    const std::uint64_t kept = TRY(end_of_kept());
    const std::size_t old_table = image_.sections().size() * layout_.header_size;
    std::vector<Range> removable = {{table_offset_, table_offset_ + old_table}};
    for (const ElfSection& section : image_.sections()) {
      if (has_contents(section) && (section.index == names_index_ || is_replaced(section))) {
        removable.push_back({section.offset, section.offset + section.size});
      }
    }
    std::sort(removable.begin(), removable.end(),
              [](const Range& a, const Range& b) { return a.end > b.end; });
    std::uint64_t end = bytes_.size();
    for (const Range& range : removable) {
      if (range.begin < kept || range.end > end || !is_padding(range.end, end)) {
        break;
      }
      end = range.begin;
    }
    return end;
  }

  static bool has_contents(const ElfSection& section) {
    return section.type != SHT_NOBITS && section.type != SHT_NULL;
  }

  [[nodiscard]] bool is_padding(std::uint64_t begin, std::uint64_t end) const {
    constexpr std::uint64_t kMostPadding = 15;
    return end - begin <= kMostPadding &&
           std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(begin),
                       bytes_.begin() + static_cast<std::ptrdiff_t>(end),
                       [](std::byte byte) { return byte == std::byte{0}; });
  }

  // The end of what headers mention and what stays: the headers themselves, segments, all other
  // sections.
  Result<std::uint64_t> end_of_kept() const {
    const std::byte* file = bytes_.data();
    const std::uint64_t file_size = bytes_.size();
    const std::uint64_t offset = get(file + layout_.e_phoff, layout_.word);
    const std::uint64_t entry = get(file + layout_.e_phentsize, 2);
    std::uint64_t count = get(file + layout_.e_phnum, 2);
    if (count == PN_XNUM) {
      count = image_.sections()[0].info;
    }
    if (count != 0 && (entry != layout_.program_header_size || offset > file_size ||
                       count > (file_size - offset) / entry)) {
      return Error{.kind = ErrorKind::kInput,
                   .text = "the program header table is damaged or truncated; rebuild the file",
                   .file = image_.path()};
    }
    std::uint64_t end = layout_.file_header_size;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::byte* header = file + offset + i * entry;
      const std::uint64_t begin = get(header + layout_.p_offset, layout_.word);
      const std::uint64_t size = get(header + layout_.p_filesz, layout_.word);
      // A segment may claim more than the file has: separate debug files keep the headers of what
      // they lack.
      end = std::max(end, begin > file_size ? 0 : begin + std::min(size, file_size - begin));
    }
    if (count != 0) {
      end = std::max(end, offset + count * entry);
    }
    for (const ElfSection& section : image_.sections()) {
      if (has_contents(section) && section.index != names_index_ && !is_replaced(section)) {
        end = std::max(end, section.offset + section.size);
      }
    }
    return end;
  }

  void align(std::uint64_t alignment) {
    alignment = std::max<std::uint64_t>(alignment, 1);
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  }

  void append() {
    const Bytes old_names = image_.raw(image_.sections()[names_index_]);
    std::vector<std::byte> names(old_names.begin(), old_names.end());
    names.resize(std::min<std::size_t>(names.size(), names_size_));
    for (const NewSection& section : moving_) {
      align(section.alignment);
      std::byte* record = header_of(section, names);
      put(record + layout_.sh_type, 4, SHT_PROGBITS);
      put(record + layout_.sh_flags, layout_.word, 0);
      put(record + layout_.sh_addr, layout_.word, 0);
      put(record + layout_.sh_offset, layout_.word, bytes_.size());
      put(record + layout_.sh_size, layout_.word, section.contents.size());
      put(record + layout_.sh_link, 4, 0);
      put(record + layout_.sh_info, 4, 0);
      put(record + layout_.sh_addralign, layout_.word, section.alignment);
      put(record + layout_.sh_entsize, layout_.word, 0);
      bytes_.insert(bytes_.end(), section.contents.begin(), section.contents.end());
    }
    put(header(names_index_) + layout_.sh_offset, layout_.word, bytes_.size());
    put(header(names_index_) + layout_.sh_size, layout_.word, names.size());
    bytes_.insert(bytes_.end(), names.begin(), names.end());
    align(layout_.word);
    write_header_table();
  }

  // The section's header: its old one, or a new one at the end of the table.
  std::byte* header_of(const NewSection& section, std::vector<std::byte>& names) {
    if (const ElfSection* old = image_.find(section.name); old != nullptr) {
      return header(old->index);
    }
    const std::size_t name = names.size();
    const Bytes text = as_bytes_of(section.name);
    names.insert(names.end(), text.begin(), text.end());
    names.push_back(std::byte{0});
    ++count_;
    headers_.resize(table_size());
    put(header(count_ - 1) + layout_.sh_name, 4, name);
    return header(count_ - 1);
  }

  void write_header_table() {
    put(bytes_.data() + layout_.e_shoff, layout_.word, bytes_.size());
    // Counts that do not fit into 16 bits stand in section 0.
    if (count_ >= SHN_LORESERVE) {
      put(header(0) + layout_.sh_size, layout_.word, count_);
    }
    put(bytes_.data() + layout_.e_shnum, 2, count_ >= SHN_LORESERVE ? 0 : count_);
    bytes_.insert(bytes_.end(), headers_.begin(), headers_.end());
  }

  const ElfImage& image_;
  const Layout& layout_;
  ByteOrder order_;
  std::vector<std::byte> bytes_;    // of the new file
  std::vector<std::byte> headers_;  // its section header table
  std::vector<NewSection> moving_;
  std::vector<std::uint32_t> replaced_;  // by those that move: the first section of that name
  std::uint64_t table_offset_ = 0;       // of the old table
  std::size_t count_ = 0;                // sections
  std::size_t names_index_ = 0;          // of the section names
  std::size_t names_size_ = SIZE_MAX;    // of the old names, what stays of them
};

}  // namespace

Result<std::vector<std::byte>> embed_sections(const ElfImage& image,
                                              const std::vector<NewSection>& sections) {
  return Embedding(image).run(sections);
}

}  // namespace btfloom
