// The floor that everything else is measured against: our own cursor over every DIE of a file, and
// nothing else.
//
//   decode_floor FILE [THREADS]      prints DIEs and seconds, wall and processor
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "dwarf/cursor.h"
#include "dwarf/sections.h"
#include "dwarf/unit.h"
#include "elf/image.h"
#include "jobs/pool.h"

namespace btfloom {

namespace {

double processor_seconds() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Result<> decode(const char* path, unsigned threads) {
  const auto start = std::chrono::steady_clock::now();
  const ElfImage image = TRY(ElfImage::open(path));
  const DwarfSections dwarf = TRY(read_dwarf_sections(image));
  const std::vector<Unit> units = TRY(list_units(dwarf));
  const auto slots = fixed_slots(threads);
  std::vector<AbbrevTable> tables(threads);
  std::atomic<std::uint64_t> total{0};
  TRY(for_each_parallel(*slots, units.size(), nullptr,
                        [&](std::size_t i, unsigned worker) -> Result<> {
                          TRY(tables[worker].prepare(units[i]));
                          Cursor cursor(units[i], tables[worker]);
                          Die die;
                          std::uint64_t dies = 0;
                          while (cursor.next(die)) {
                            ++dies;
                          }
                          // relaxed: only the sum counts, and the threads have ended when it is
                          // read
                          total.fetch_add(dies, std::memory_order_relaxed);
                          return {};
                        }));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::printf("%llu DIEs %.3f s wall %.3f s processor\n",
              static_cast<unsigned long long>(total.load()), wall.count(), processor_seconds());
  return {};
}

}  // namespace

}  // namespace btfloom

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: decode_floor FILE [THREADS]\n");
    return 64;
  }
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  const btfloom::Result<> done =
      btfloom::decode(argv[1], threads > 0 ? static_cast<unsigned>(threads) : 1);
  if (!done.ok()) {
    std::fprintf(stderr, "%s\n", done.error().text.c_str());
    return 1;
  }
  return 0;
}
