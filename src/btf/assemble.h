// The last step of making a BTF: header, types and strings become one image; and records copied
// from one image into another, with new references and strings.
//
// Format: Documentation/bpf/btf.rst, "2. BTF Type and String Encoding". Thread-safe (pure), but a
// RecordCopier belongs to one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "btf/image.h"
#include "btf/strings.h"
#include "support/bytes.h"
#include "support/function_ref.h"
#include "support/result.h"

namespace btfloom {

// `layout` (may be empty) goes between types and strings, announced by a longer header. Errors
// (kInput): more than 4 GiB.
Result<std::vector<std::byte>> assemble_btf(Bytes types, Bytes layout, Bytes strings,
                                            ByteOrder order);

// What a reader that does not know a kind needs to skip its records: for each kind, from 0 on, the
// bytes behind the three words, the bytes for each part, and flags (struct btf_layout).
std::vector<std::byte> btf_layout(ByteOrder order);

class RecordCopier {
 public:
  // `base` (may be null): where strings are looked for first.
  RecordCopier(ByteOrder order, const StringIndex* base) : order_(order), strings_(base) {}

  // Appends a copy of the record; `map(id)` says what becomes of a reference.
  void copy(const BtfImage& image, const BtfRecord& record,
            FunctionRef<std::uint32_t(std::uint32_t id)> map);
  // Appends only its three words: a struct without members, an enumeration without values.
  void copy_shell(const BtfImage& image, const BtfRecord& record, BtfKind kind);

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] Result<std::vector<std::byte>> assemble() const {
    return assemble_btf(types_, {}, strings_.bytes(), order_);
  }
  [[nodiscard]] Bytes strings() const { return strings_.bytes(); }

 private:
  void put(std::uint32_t word);
  void put_text(const BtfImage& image, std::uint32_t name) { put(strings_.add(image.text(name))); }

  ByteOrder order_;
  StringSection strings_;
  std::vector<std::byte> types_;
  std::uint32_t count_ = 0;
};

}  // namespace btfloom
