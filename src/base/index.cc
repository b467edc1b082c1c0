#include "base/index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "btf/read.h"
#include "btf/record_keys.h"
#include "dedup/base_keys.h"
#include "elf/output_file.h"

namespace btfloom {

namespace {

namespace fs = std::filesystem;

// "btfloom" and the version of the layout and of the hashes in it. Any change of what
// dedup/shape.h or btf/record_keys.h hash needs another one.
constexpr std::uint64_t kMagic = 0x62'74'66'6c'6f'6f'6d'01;
constexpr const char* kSuffix = ".v1.btfloom-index";
// A builder has a few kernels at a time; an index is about twice as large as its base.
constexpr std::size_t kMostFiles = 8;

std::string name_of(const Hash128& content) {
  char name[64];
  std::snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64, content.high, content.low);
  return std::string(name) + kSuffix;
}

std::size_t aligned(std::size_t size) {
  return (size + 7) / 8 * 8;
}

// Whether the file belongs to this user (or root) and nobody else could have written it: an index
// decides what an encode leaves out.
bool is_trusted(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_uid == ::geteuid() || status.st_uid == 0) &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void touch(const std::string& path) {
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

// Leaves the indices that were used last.
void remove_old(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().native().ends_with(kSuffix)) {
      std::error_code gone;
      const fs::file_time_type used = entry->last_write_time(gone);
      if (!gone) {
        found.emplace_back(used, entry->path());
      }
    }
  }
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; i + kMostFiles < found.size(); ++i) {
    fs::remove(found[i].second, error);
  }
}

// Whatever goes wrong, the next process makes the index again.
void keep(const std::string& folder, const std::string& path, Bytes bytes) {
  std::error_code error;
  const bool is_new = fs::create_directories(folder, error);
  if (error) {
    return;
  }
  if (is_new) {
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  Result<OutputFile> file = OutputFile::create(path, S_IRUSR | S_IWUSR);
  if (file.ok() && file.value().write(bytes).ok() && file.value().commit().ok()) {
    remove_old(folder);
  }
}

}  // namespace

std::uint64_t BaseIndex::checksum(Bytes bytes) {
  const std::size_t start = offsetof(Header, content);
  return XXH3_64bits(bytes.data() + start, bytes.size() - start);
}

Result<BaseIndex> BaseIndex::make(Bytes btf) {
  const BtfImage image = TRY(BtfImage::parse(btf, nullptr));
  const std::uint32_t int_id = array_index_id(image);
  FrozenMap::Builder builder(std::size_t{image.end_id()} * 5 / 4);  // about one in eight is a tag
  Fragment types;
  std::vector<std::uint32_t> ids;
  read_types(image, int_id, types, ids);
  add_base_keys(std::move(types), ids, builder);
  const std::vector<std::uint32_t> slots = StringIndex::build(image.strings());
  add_record_keys(image, StringIndex(image.strings(), slots), builder);
  const Bytes known = builder.freeze();

  Header header;
  header.magic = kMagic;
  header.content = hash_bytes(btf.data(), btf.size());
  header.int_id = int_id;
  std::size_t end = sizeof header;
  const auto place = [&](std::size_t size) {
    const std::size_t at = end;
    end = aligned(end + size);
    return at;
  };
  header.offsets_size = image.offsets().size();
  header.offsets_at = place(header.offsets_size);
  header.strings_size = slots.size() * sizeof slots[0];
  header.strings_at = place(header.strings_size);
  header.known_size = known.size();
  header.known_at = place(header.known_size);
  header.size = end;

  BaseIndex index;
  index.own_.resize(end);
  std::byte* bytes = index.own_.data();
  std::memcpy(bytes, &header, sizeof header);
  std::memcpy(bytes + header.offsets_at, image.offsets().data(), header.offsets_size);
  std::memcpy(bytes + header.strings_at, slots.data(), header.strings_size);
  std::memcpy(bytes + header.known_at, known.data(), header.known_size);
  header.checksum = checksum(index.own_);
  std::memcpy(bytes, &header, sizeof header);
  return index;
}

bool BaseIndex::use(MappedFile file, const Hash128& content) {
  file_ = std::move(file);
  const Bytes all = file_.bytes();
  return all.size() >= sizeof(Header) && header().magic == kMagic && header().content == content &&
         header().size == all.size() && header().checksum == checksum(all);
}

Result<BaseIndex> BaseIndex::find_or_make(Bytes btf, const std::string& folder) {
  if (folder.empty()) {
    return make(btf);
  }
  const Hash128 content = hash_bytes(btf.data(), btf.size());
  const std::string path = folder + "/" + name_of(content);
  if (is_trusted(path)) {
    Result<MappedFile> file = MappedFile::open(path);
    BaseIndex index;
    if (file.ok() && index.use(std::move(file.value()), content)) {
      touch(path);
      return index;
    }
  }
  BaseIndex index = TRY(make(btf));
  keep(folder, path, index.own_);
  return index;
}

}  // namespace btfloom
