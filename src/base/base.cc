#include "base/base.h"

#include <utility>

namespace btfloom {

Result<Base> Base::open(const std::string& path, const std::string& cache_folder) {
  BtfFile file = TRY(BtfFile::open(path));
  Result<BaseIndex> index = BaseIndex::find_or_make(file.btf(), cache_folder);
  if (!index.ok()) {
    return std::move(index.error()).at_file(path);
  }
  Result<BtfImage> image = BtfImage::trust(file.btf(), index.value().offsets());
  if (!image.ok()) {
    return std::move(image.error()).at_file(path);
  }
  return Base(std::move(file), std::move(index.value()), std::move(image.value()));
}

}  // namespace btfloom
