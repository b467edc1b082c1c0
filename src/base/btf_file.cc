#include "base/btf_file.h"

#include <elf.h>

#include <cstring>
#include <utility>

#include "btf/format.h"

namespace btfloom {

namespace {

bool is_elf(Bytes bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

bool is_btf(Bytes bytes) {
  if (bytes.size() < sizeof kBtfMagic) {
    return false;
  }
  const auto magic = load<std::uint16_t>(bytes.data(), ByteOrder::native);
  return magic == kBtfMagic || byte_swap(magic) == kBtfMagic;
}

}  // namespace

Result<BtfFile> BtfFile::open(const std::string& path) {
  BtfFile file;
  file.path_ = path;
  file.raw_ = TRY(MappedFile::open(path));
  if (is_btf(file.raw_.bytes())) {
    file.btf_ = file.raw_.bytes();
    return file;
  }
  if (!is_elf(file.raw_.bytes())) {
    return Error{.kind = ErrorKind::kInput,
                 .text =
                     "neither BTF nor an ELF file; name a raw BTF file or an ELF file with a "
                     "section .BTF",
                 .file = path};
  }
  file.raw_ = MappedFile();
  file.elf_.emplace(TRY(ElfImage::open(path)));
  const ElfSection* section = file.elf_->find(".BTF");
  if (section == nullptr || section->type == SHT_NOBITS || section->size == 0) {
    return Error{.kind = ErrorKind::kInput,
                 .text =
                     "this ELF file has no section .BTF; encode it first, with btfloom encode "
                     "--in-place",
                 .file = path};
  }
  file.btf_ = file.elf_->raw(*section);
  if (const ElfSection* base = file.elf_->find(".BTF.base"); base != nullptr) {
    file.distilled_base_ = file.elf_->raw(*base);
  }
  return file;
}

}  // namespace btfloom
