// Base: the BTF that a split BTF goes on from, opened: its file, its records, its index.
//
//   const Base base = TRY(Base::open("vmlinux", cache_folder));
//   Merger merger(table, &types) ...    // see encode.cc
//
// A base is a raw BTF file or an ELF file with .BTF, of either byte order. Const after open(), so
// any thread may read it.
#pragma once

#include <memory>
#include <string>

#include "base/btf_file.h"
#include "base/index.h"
#include "btf/image.h"
#include "btf/strings.h"
#include "support/frozen_map.h"
#include "support/result.h"

namespace btfloom {

class Base {
 public:
  // `cache_folder` keeps the index (index.h), empty: nowhere. Errors (kInput, file set): as
  // BtfFile::open() and BtfImage::parse(); a base that is itself split.
  static Result<Base> open(const std::string& path, const std::string& cache_folder);

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] const ElfImage* elf() const { return file_.elf(); }
  [[nodiscard]] const BtfImage& image() const { return image_; }
  [[nodiscard]] const StringIndex& strings() const { return strings_; }
  [[nodiscard]] const FrozenMap& known() const { return known_; }
  [[nodiscard]] std::uint32_t int_id() const { return index_.int_id(); }

 private:
  Base(BtfFile file, BaseIndex index, BtfImage image)
      : file_(std::move(file)),
        index_(std::move(index)),
        image_(std::move(image)),
        strings_(image_.strings(), index_.string_slots()),
        known_(index_.known()) {}

  BtfFile file_;
  BaseIndex index_;
  BtfImage image_;
  StringIndex strings_;
  FrozenMap known_;
};

}  // namespace btfloom
