// BaseIndex: what a split BTF needs to know of its base, ready to be used: where its records and
// strings are, and the keys of its types.
//
// Making one costs as much as reading the whole base; a kernel has hundreds of modules and one
// base. So an index can be kept in a folder, under a name made of the base's content: a base that
// changed has another index, and nobody has to say when one is stale. A file that is not whole, not
// ours or of another version is ignored and made anew. Files appear by rename, so any number of
// processes may make the same one at once; the folder keeps the few that were used last.
//
// Layout of a file: Header, then offsets, string slots and the frozen map, each aligned to 8 bytes,
// words of the host. Const after it is made, so any thread may read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "btf/image.h"
#include "btf/strings.h"
#include "elf/mapped_file.h"
#include "support/frozen_map.h"
#include "support/hash.h"

namespace btfloom {

class BaseIndex {
 public:
  // Reads all of the base. Errors (kInput): it is damaged (btf/image.h), or itself split.
  static Result<BaseIndex> make(Bytes btf);
  // The index of `btf` from the folder, or a new one that is put there. An empty `folder` keeps
  // nothing. Trouble with the folder costs time, not the answer.
  static Result<BaseIndex> find_or_make(Bytes btf, const std::string& folder);

  [[nodiscard]] Bytes offsets() const { return part(header().offsets_at, header().offsets_size); }
  [[nodiscard]] std::span<const std::uint32_t> string_slots() const {
    const Bytes slots = part(header().strings_at, header().strings_size);
    return {reinterpret_cast<const std::uint32_t*>(slots.data()),
            slots.size() / sizeof(std::uint32_t)};
  }
  [[nodiscard]] FrozenMap known() const {
    return FrozenMap(part(header().known_at, header().known_size));
  }
  // The index that arrays have.
  [[nodiscard]] std::uint32_t int_id() const { return static_cast<std::uint32_t>(header().int_id); }

 private:
  struct Header {
    std::uint64_t magic = 0;
    std::uint64_t checksum = 0;  // of everything behind it
    Hash128 content = {};        // of the base
    std::uint64_t size = 0;      // of the file
    std::uint64_t offsets_at = 0;
    std::uint64_t offsets_size = 0;
    std::uint64_t strings_at = 0;
    std::uint64_t strings_size = 0;
    std::uint64_t known_at = 0;
    std::uint64_t known_size = 0;
    std::uint64_t int_id = 0;
  };

  BaseIndex() = default;
  // Takes over the file, if it is whole and the index of that content.
  bool use(MappedFile file, const Hash128& content);
  [[nodiscard]] Bytes bytes() const { return own_.empty() ? file_.bytes() : Bytes(own_); }
  [[nodiscard]] const Header& header() const {
    return *reinterpret_cast<const Header*>(bytes().data());
  }
  [[nodiscard]] Bytes part(std::uint64_t at, std::uint64_t size) const {
    return bytes().subspan(at, size);
  }
  static std::uint64_t checksum(Bytes bytes);

  MappedFile file_;
  std::vector<std::byte> own_;
};

}  // namespace btfloom
