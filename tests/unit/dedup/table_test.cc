#include "dedup/table.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace btfloom::test {

namespace {

// Distinct hashes, many of which collide in their low bits.
Hash128 hash_of(std::uint64_t i) {
  return {i % 64 + 1 + (i << 32), i * 0x9e3779b97f4a7c15};
}

}  // namespace

TEST_CASE("What was inserted is found, with its flavour, through every growth", "[unit][dedup]") {
  Table table(1);
  for (std::uint32_t i = 0; i < 20000; ++i) {
    REQUIRE_FALSE(table.find(hash_of(i)).exists());
    table.insert(hash_of(i), {i, i * 3ULL});
  }
  CHECK(table.size() == 20000);
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const Table::Entry entry = table.find(hash_of(i));
    REQUIRE(entry.value == i);
    REQUIRE(entry.flavour == i * 3ULL);
  }
}

TEST_CASE("A hash whose low word is 0 is a hash like others", "[unit][dedup]") {
  Table table;
  table.insert({0, 5}, {1, 0});
  table.insert({1, 6}, {2, 0});
  CHECK(table.find({0, 5}).value == 1);
  CHECK(table.find({1, 6}).value == 2);
  CHECK_FALSE(table.find({0, 7}).exists());
}

TEST_CASE("Readers see entries whole or not at all while the writer inserts", "[unit][dedup]") {
  constexpr std::uint32_t kCount = 50000;
  Table table(1);
  std::atomic<bool> is_wrong{false};
  std::atomic<std::uint32_t> published{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      std::uint32_t known = 0;
      while (known < kCount) {
        // acquire: pairs with the release below; everything published must be found
        known = published.load(std::memory_order_acquire);
        for (std::uint32_t i = 0; i < kCount; i += 97) {
          const Table::Entry entry = table.find(hash_of(i));
          if ((entry.exists() && (entry.value != i || entry.flavour != i + 7ULL)) ||
              (!entry.exists() && i < known)) {
            is_wrong = true;
          }
        }
      }
    });
  }
  for (std::uint32_t i = 0; i < kCount; ++i) {
    table.insert(hash_of(i), {i, i + 7ULL});
    published.store(i + 1, std::memory_order_release);
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  CHECK_FALSE(is_wrong);
}

}  // namespace btfloom::test
