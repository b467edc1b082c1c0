#include "outputs.h"

#include <elf.h>
#include <sys/types.h>

#include <utility>

#include "btf/distill.h"
#include "elf/embed.h"
#include "elf/output_file.h"

namespace btfloom {

namespace {

// Mode of a new detached file, as the peer's: readable for the owner and the group.
constexpr mode_t kDetachedMode = 0640;

Result<> commit_detached(const EncodeOptions& options, const Outputs& outputs) {
  OutputFile output = TRY(OutputFile::create(options.output, kDetachedMode));
  TRY(output.write(outputs.btf.bytes));
  if (!outputs.distilled_base.empty()) {
    OutputFile base = TRY(OutputFile::create(options.output_base, kDetachedMode));
    TRY(base.write(outputs.distilled_base));
    TRY(base.commit());
  }
  return output.commit();
}

}  // namespace

Result<> distill_outputs(const EncodeOptions& options, const Base* base, Outputs& outputs) {
  const bool has_place =
      options.output_kind == OutputKind::kInPlace || !options.output_base.empty();
  if (!options.features.distilled_base || base == nullptr || !has_place) {
    return {};
  }
  const BtfImage split = TRY(BtfImage::parse(outputs.btf.bytes, &base->image()));
  DistilledBtf distilled = TRY(distill(split));
  outputs.btf.bytes = std::move(distilled.split);
  outputs.distilled_base = std::move(distilled.base);
  return {};
}

Result<> commit_outputs(const EncodeOptions& options, const ElfImage& image, Outputs& outputs) {
  WrittenBtf& written = outputs.btf;
  if (options.output_kind == OutputKind::kDetached) {
    return commit_detached(options, outputs);
  }
  // A .BTF that is loaded into memory keeps its size, and the kernel takes all of it for BTF.
  const ElfSection* old = image.find(".BTF");
  if (old != nullptr && (old->flags & SHF_ALLOC) != 0 && old->size > written.bytes.size()) {
    pad_btf(written, old->size, image.byte_order());
  }
  const std::vector<std::byte> file =
      TRY(embed_sections(image, {{".BTF", written.bytes}, {".BTF.base", outputs.distilled_base}}));
  OutputFile output = TRY(OutputFile::create(image.path(), kDetachedMode, image.path()));
  TRY(output.write(file));
  return output.commit();
}

}  // namespace btfloom
