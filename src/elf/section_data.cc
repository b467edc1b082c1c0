#include "elf/section_data.h"

#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <string>

#include "elf/relocate.h"
#include "support/reader.h"

namespace btfloom {

namespace {

// Deflate makes at most 1,032 bytes of one (zlib's documentation); zstd makes up to 128 KiB of a
// block of four bytes (RFC 8878, RLE_Block). A claim beyond that is a lie, found out before memory
// is asked for.
constexpr std::uint64_t kMaxZlibRatio = 1100;
constexpr std::uint64_t kMaxZstdRatio = 64 * 1024;
constexpr std::uint64_t kMaxSectionBytes = std::uint64_t{64} << 30;

enum class Compression : std::uint8_t { kZlib, kZstd };

struct Compressed {
  Compression kind = Compression::kZlib;
  std::uint64_t size = 0;  // decompressed
  Bytes bytes;
};

Error bad_section(const ElfImage& image, const ElfSection& section, const char* what) {
  return Error{.kind = ErrorKind::kInput,
               .text = "section " + std::string(section.name) + ": " + what +
                       "; the file is damaged, rebuild it",
               .file = image.path()};
}

// Whether the sizes that the zstd frames themselves tell (most do) add up to the one announced.
bool is_possible_zstd(const Compressed& from) {
  std::uint64_t left = from.size;
  for (Bytes rest = from.bytes; !rest.empty();) {
    const std::size_t frame = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
    const unsigned long long contents = ZSTD_getFrameContentSize(rest.data(), rest.size());
    if (ZSTD_isError(frame) != 0 || contents == ZSTD_CONTENTSIZE_ERROR) {
      return false;
    }
    if (contents == ZSTD_CONTENTSIZE_UNKNOWN) {
      return true;
    }
    if (contents > left) {
      return false;
    }
    left -= contents;
    rest = rest.subspan(frame);
  }
  return left == 0;
}

bool inflate_zlib(const Compressed& from, std::byte* to) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) {
    return false;
  }
  // Sizes beyond 4 GiB do not fit into zlib's counters, so input and output are handed over in
  // parts.
  constexpr std::uint64_t kPart = std::numeric_limits<uInt>::max() / 2;
  std::uint64_t in_left = from.bytes.size();
  std::uint64_t out_left = from.size;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.bytes.data()));
  stream.next_out = reinterpret_cast<Bytef*>(to);
  int status = Z_OK;
  while (status == Z_OK) {
    const auto in_part = static_cast<uInt>(std::min(in_left, kPart));
    const auto out_part = static_cast<uInt>(std::min(out_left, kPart));
    stream.avail_in = in_part;
    stream.avail_out = out_part;
    status = inflate(&stream, Z_NO_FLUSH);
    in_left -= in_part - stream.avail_in;
    out_left -= out_part - stream.avail_out;
    if (stream.avail_in == in_part && stream.avail_out == out_part) {
      break;  // no progress
    }
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && out_left == 0;
}

Result<SectionBytes> decompress(const ElfImage& image, const ElfSection& section,
                                const Compressed& from) {
  const std::uint64_t ratio = from.kind == Compression::kZlib ? kMaxZlibRatio : kMaxZstdRatio;
  if (from.size > kMaxSectionBytes || from.size / ratio > from.bytes.size()) {
    return bad_section(image, section, "an impossible decompressed size");
  }
  if (from.kind == Compression::kZstd && !is_possible_zstd(from)) {
    return bad_section(image, section, "cannot be decompressed");
  }
  SectionBytes result;
  result.owned = std::make_unique_for_overwrite<std::byte[]>(from.size);
  bool is_whole = false;
  if (from.kind == Compression::kZlib) {
    is_whole = inflate_zlib(from, result.owned.get());
  } else {
    const std::size_t size =
        ZSTD_decompress(result.owned.get(), from.size, from.bytes.data(), from.bytes.size());
    is_whole = ZSTD_isError(size) == 0 && size == from.size;
  }
  if (!is_whole) {
    return bad_section(image, section, "cannot be decompressed");
  }
  result.bytes = {result.owned.get(), from.size};
  return result;
}

// gABI "Compressed sections": Elf32_Chdr and Elf64_Chdr.
Result<Compressed> read_header(const ElfImage& image, const ElfSection& section) {
  const Bytes bytes = image.raw(section);
  Reader reader(bytes, image.byte_order());
  const std::uint32_t type = reader.u32();
  Compressed result;
  if (image.is_64_bit()) {
    reader.u32();  // reserved
    result.size = reader.u64();
    reader.u64();  // alignment
  } else {
    result.size = reader.u32();
    reader.u32();
  }
  constexpr std::uint32_t kElfCompressZstd = 2;  // newer than the <elf.h> of older systems
  if (!reader.ok() || (type != ELFCOMPRESS_ZLIB && type != kElfCompressZstd)) {
    return bad_section(image, section, "an unknown compression");
  }
  result.kind = type == ELFCOMPRESS_ZLIB ? Compression::kZlib : Compression::kZstd;
  result.bytes = bytes.subspan(reader.position());
  return result;
}

// GNU .zdebug_*: "ZLIB", then the size as a big-endian number.
Result<Compressed> read_gnu_header(const ElfImage& image, const ElfSection& section) {
  const Bytes bytes = image.raw(section);
  Reader reader(bytes, ByteOrder::big);
  const Bytes magic = reader.take(4);
  Compressed result;
  result.size = reader.u64();
  if (!reader.ok() || as_text(magic) != "ZLIB") {
    return bad_section(image, section, "no GNU compression header");
  }
  result.bytes = bytes.subspan(reader.position());
  return result;
}

}  // namespace

Result<SectionBytes> debug_section(const ElfImage& image, std::string_view name) {
  SectionBytes result;
  const ElfSection* section = image.find(name);
  if (section != nullptr && (section->flags & SHF_COMPRESSED) != 0) {
    result = TRY(decompress(image, *section, TRY(read_header(image, *section))));
  } else if (section != nullptr) {
    result.bytes = image.raw(*section);
  } else {
    section = image.find(".z" + std::string(name.substr(1)));
    if (section == nullptr) {
      return result;
    }
    result = TRY(decompress(image, *section, TRY(read_gnu_header(image, *section))));
  }
  if (!image.is_relocatable() || !has_relocations(image, *section)) {
    return result;
  }
  const std::size_t size = result.bytes.size();
  if (result.owned == nullptr) {
    result.owned = std::make_unique_for_overwrite<std::byte[]>(size);
    std::copy(result.bytes.begin(), result.bytes.end(), result.owned.get());
    result.bytes = {result.owned.get(), size};
  }
  TRY(relocate(image, *section, {result.owned.get(), size}));
  return result;
}

}  // namespace btfloom
