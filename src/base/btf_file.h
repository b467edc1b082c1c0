// BtfFile: where BTF is found in practice: a raw file, or the section .BTF of an ELF file (a
// vmlinux, a module), with .BTF.base beside it if the base was distilled.
//
//   const BtfFile file = TRY(BtfFile::open("vmlinux"));
//   const BtfImage image = TRY(BtfImage::parse(file.btf(), nullptr));
//
// Owns the mapping; move-only. Const after open(), so any thread may read it.
#pragma once

#include <optional>
#include <string>

#include "elf/image.h"
#include "elf/mapped_file.h"
#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

class BtfFile {
 public:
  // Errors (kInput, file set): missing, unreadable, neither BTF nor ELF, an ELF file without .BTF;
  // each with the way out.
  static Result<BtfFile> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Bytes btf() const { return btf_; }
  // The contents of .BTF.base, empty if there is none.
  [[nodiscard]] Bytes distilled_base() const { return distilled_base_; }
  // The ELF file that the BTF is in; null for a raw file, which does not say what machine it is
  // for.
  [[nodiscard]] const ElfImage* elf() const { return elf_ ? &*elf_ : nullptr; }

 private:
  BtfFile() = default;
  std::string path_;
  MappedFile raw_;
  std::optional<ElfImage> elf_;
  Bytes btf_;
  Bytes distilled_base_;
};

}  // namespace btfloom
