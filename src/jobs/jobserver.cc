// Tokens, and how none gets lost.
//
// THE LIST. A token lives in a fixed array of atomics, as (descriptor, byte), from the read to the
// write. Slots carry the number of their entry. The array is what a signal handler can walk: no
// lock, no allocation.
//
// WHO WRITES THE BYTE. Giving back starts with an exchange of the entry against kFree; whoever gets
// the value out, the worker or the handler, writes it. So a token is never written twice.
//
// THE GAP. Between read() and the store of the entry, or between the exchange and write(), the
// token is in a register of some thread only. The handler must not end the process then. Moves are
// therefore bracketed by a counter, `moving`, and the handler first forbids further moves
// (`closed`) and then waits until it is 0. Each side writes its own flag and then reads the
// other's, which is the one pattern that needs seq_cst: with less, both might read the old value.
// The thread that the handler interrupted is never itself in a gap, because moves run with signals
// blocked; so the handler waits for others only, which are a system call away from the end.
//
// READING WITHOUT BLOCKING. poll() and then read() is not enough: a sibling may be faster, and our
// read would block, as nobody can say for how long. O_NONBLOCK on the inherited descriptor is not
// ours to set; it belongs to the open file description that all of the build shares, and dup()
// shares it too. Opening /proc/self/fd/R makes a description of our own. Without /proc, a
// descriptor that is non-blocking already (make >= 4.3) is used as it is, and preadv2(RWF_NOWAIT)
// otherwise; where the kernel cannot do that for pipes we say so, and stay at one slot, rather than
// have a run end with a thread that hangs in read().
#include "jobs/jobserver.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "jobs/signal_mask.h"

namespace btfloom {
namespace {

// ---- the list of tokens held by this process ----

constexpr std::size_t kMostTokens = 1024;
constexpr std::uint64_t kFree = 0;
constexpr std::uint64_t kReserved = 1;  // by a thread that is reading
constexpr std::uint64_t kHeldBit = 2;

constexpr std::uint64_t held_value(int descriptor, unsigned char byte) {
  return static_cast<std::uint64_t>(static_cast<unsigned>(descriptor)) << 32 |
         static_cast<std::uint64_t>(byte) << 8 | kHeldBit;
}
constexpr int descriptor_of(std::uint64_t value) {
  return static_cast<int>(value >> 32);
}
constexpr unsigned char byte_of(std::uint64_t value) {
  return static_cast<unsigned char>(value >> 8 & 0xff);
}

struct TokenList {
  // relaxed everywhere: an entry is complete in itself, and exchange gives each value to one taker.
  std::array<std::atomic<std::uint64_t>, kMostTokens> entries{};
  std::atomic<unsigned> moving{0};  // seq_cst: pairs with `closed`, see the essay
  std::atomic<bool> closed{false};  // seq_cst: pairs with `moving`
  std::atomic<pid_t> owner{0};      // relaxed: set before the first token, for forked children
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "the list is used by a signal handler");

constinit TokenList tokens;

// A gap: while it lives, a token may be in motion on this thread.
class Moving {
 public:
  Moving() { tokens.moving.fetch_add(1, std::memory_order_seq_cst); }
  ~Moving() { tokens.moving.fetch_sub(1, std::memory_order_seq_cst); }
  Moving(const Moving&) = delete;
  Moving& operator=(const Moving&) = delete;
  [[nodiscard]] static bool is_allowed() { return !tokens.closed.load(std::memory_order_seq_cst); }

 private:
  SignalMask masked_;
};

// Async-signal-safe. A byte that was read before fits; if the pipe is full all the same (somebody
// wrote more than he read), waits a second for room. After that the token is lost, which costs the
// build parallelism but not its life.
void write_token(int descriptor, unsigned char byte) {
  for (int attempt = 0; attempt < 20;) {
    if (::write(descriptor, &byte, 1) == 1) {
      return;
    }
    if (errno == EAGAIN) {
      pollfd room{descriptor, POLLOUT, 0};
      ::poll(&room, 1, 50);
      ++attempt;
    } else if (errno != EINTR) {
      return;
    }
  }
}

// ---- the client ----

enum class Reading : std::uint8_t { kPlain, kNoWait };

class Jobserver final : public SlotSource {
 public:
  // Owns both descriptors, which may be one.
  Jobserver(int reading, int writing, Reading how, unsigned most)
      : reading_(reading), writing_(writing), how_(how), most_(most) {
    tokens.owner.store(::getpid(), std::memory_order_relaxed);
  }
  ~Jobserver() override {
    // A handler that is giving tokens back must find the descriptor open, and not as another file.
    if (!Moving::is_allowed()) {
      return;
    }
    ::close(reading_);
    if (writing_ != reading_) {
      ::close(writing_);
    }
  }
  Jobserver(const Jobserver&) = delete;
  Jobserver& operator=(const Jobserver&) = delete;

  [[nodiscard]] unsigned max_workers() const override { return most_; }
  [[nodiscard]] int poll_descriptor() const override {
    // relaxed: a flag without data; set by try_acquire(), mostly on the same thread.
    return dead_.load(std::memory_order_relaxed) ? -1 : reading_;
  }
  std::optional<Slot> try_acquire() override;

 private:
  void give_back(int token) override;
  [[nodiscard]] ssize_t read_token(unsigned char& byte) const;

  const int reading_;
  const int writing_;
  const Reading how_;
  const unsigned most_;
  std::atomic<bool> dead_{false};
};

ssize_t Jobserver::read_token(unsigned char& byte) const {
  if (how_ == Reading::kPlain) {
    return ::read(reading_, &byte, 1);
  }
  const iovec place{&byte, 1};
  return ::preadv2(reading_, &place, 1, -1, RWF_NOWAIT);
}

std::optional<Slot> Jobserver::try_acquire() {
  const Moving moving;
  if (!Moving::is_allowed() || dead_.load(std::memory_order_relaxed)) {
    return std::nullopt;
  }
  const auto entry =
      std::find_if(tokens.entries.begin(), tokens.entries.end(), [](auto& candidate) {
        std::uint64_t expected = kFree;
        return candidate.compare_exchange_strong(expected, kReserved, std::memory_order_relaxed);
      });
  if (entry == tokens.entries.end()) {
    return std::nullopt;
  }
  unsigned char byte = 0;
  const ssize_t got = read_token(byte);
  if (got == 1) {
    entry->store(held_value(writing_, byte), std::memory_order_relaxed);
    return Slot(*this, static_cast<int>(entry - tokens.entries.begin()));
  }
  const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
  entry->store(kFree, std::memory_order_relaxed);
  if (!later) {
    dead_.store(true,
                std::memory_order_relaxed);  // end of file: the server is gone; never ask again
  }
  return std::nullopt;
}

void Jobserver::give_back(int token) {
  const Moving moving;
  auto& entry = tokens.entries[static_cast<std::size_t>(token)];
  const std::uint64_t value = entry.exchange(kFree, std::memory_order_relaxed);
  if ((value & kHeldBit) != 0) {
    write_token(descriptor_of(value), byte_of(value));
  }
}

// ---- connecting ----

Error unavailable(const JobserverConfig& config, const std::string& why) {
  return Error{
      ErrorKind::kResource, "job server " + config.value + " cannot be used: " + why, {}, {}, {}};
}

std::string what_is_wrong_with(int descriptor, int wanted_mode, struct stat& about) {
  const std::string name = "descriptor " + std::to_string(descriptor);
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fstat(descriptor, &about) != 0) {
    return name + " is closed (mark the recipe with + to have it passed on)";
  }
  // Character devices: job servers in user space (Gentoo).
  if (!S_ISFIFO(about.st_mode) && !S_ISCHR(about.st_mode)) {
    return name + " is not a pipe but something else that was opened since";
  }
  const int mode = flags & O_ACCMODE;
  if (mode != O_RDWR && mode != wanted_mode) {
    return name + (wanted_mode == O_RDONLY ? " is not readable" : " is not writable");
  }
  return {};
}

// An open file description of our own of what `descriptor` is, or -1.
int reopen(const char* directory, int descriptor, int mode) {
  const std::string path = std::string(directory) + "/" + std::to_string(descriptor);
  return ::open(path.c_str(), mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

// Whether the kernel can read a blocking pipe without waiting. Only reading tells (asking for no
// bytes always works), so a token that it got goes back at once.
bool can_read_without_waiting(int reading, int writing) {
  const Moving moving;
  unsigned char byte = 0;
  const iovec place{&byte, 1};
  const ssize_t got = ::preadv2(reading, &place, 1, -1, RWF_NOWAIT);
  if (got == 1) {
    write_token(writing, byte);
  }
  return got == 1 || (got < 0 && errno == EAGAIN);
}

Result<std::unique_ptr<SlotSource>> open_pipe(const JobserverConfig& config, unsigned most,
                                              const char* directory) {
  struct stat reading_end {};
  struct stat writing_end {};
  const int inherited = config.read_descriptor;
  std::string wrong = what_is_wrong_with(inherited, O_RDONLY, reading_end);
  if (wrong.empty()) {
    wrong = what_is_wrong_with(config.write_descriptor, O_WRONLY, writing_end);
  }
  if (wrong.empty() &&
      (reading_end.st_ino != writing_end.st_ino || reading_end.st_dev != writing_end.st_dev)) {
    wrong = "the descriptors are not the two ends of one pipe";
  }
  if (!wrong.empty()) {
    return unavailable(config, wrong);
  }
  Reading how = Reading::kPlain;
  int reading = reopen(directory, inherited, O_RDONLY);
  if (reading < 0) {
    if ((::fcntl(inherited, F_GETFL) & O_NONBLOCK) == 0) {
      how = Reading::kNoWait;
      if (!can_read_without_waiting(inherited, config.write_descriptor)) {
        return unavailable(config, "this system cannot read it without blocking");
      }
    }
    reading = ::fcntl(inherited, F_DUPFD_CLOEXEC, 0);
  }
  int writing = reopen(directory, config.write_descriptor, O_WRONLY);
  if (writing < 0) {
    writing = ::fcntl(config.write_descriptor, F_DUPFD_CLOEXEC, 0);
  }
  if (reading < 0 || writing < 0) {
    ::close(std::max(reading, writing));
    return unavailable(config, "no more descriptors");
  }
  return std::make_unique<Jobserver>(reading, writing, how, most);
}

// Read and write through one descriptor: opening for reading only would wait for a writer, for
// writing only would fail without a reader, and the token that is to go back must not depend on
// opening anything then.
Result<std::unique_ptr<SlotSource>> open_fifo(const JobserverConfig& config, unsigned most) {
  const int both = ::open(config.fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (both < 0) {
    return unavailable(config, errno == ENOENT ? "no such file" : "it cannot be opened");
  }
  struct stat about {};
  if (::fstat(both, &about) != 0 || (!S_ISFIFO(about.st_mode) && !S_ISCHR(about.st_mode))) {
    ::close(both);
    return unavailable(config, "it is not a fifo");
  }
  return std::make_unique<Jobserver>(both, both, Reading::kPlain, most);
}

}  // namespace

Result<std::unique_ptr<SlotSource>> open_jobserver(const JobserverConfig& config, unsigned most,
                                                   const char* descriptor_directory) {
  switch (config.kind) {
    case JobserverConfig::Kind::kNone:
      return Error{
          ErrorKind::kResource, "there is no job server: MAKEFLAGS names none", {}, {}, {}};
    case JobserverConfig::Kind::kPipe:
      return open_pipe(config, most, descriptor_directory);
    case JobserverConfig::Kind::kFifo:
      return open_fifo(config, most);
    case JobserverConfig::Kind::kDisabled:
      return unavailable(config, "make does not lend it to this command (mark the recipe with +)");
    case JobserverConfig::Kind::kUnknown:
      return unavailable(config, "unknown style");
  }
  return unavailable(config, "unknown style");
}

void give_back_all_tokens() noexcept {
  if (tokens.owner.load(std::memory_order_relaxed) != ::getpid()) {
    return;
  }
  tokens.closed.store(true, std::memory_order_seq_cst);
  // 100 ms: what is in a gap is one system call long; longer only if the pipe is full or the thread
  // gets no processor.
  for (int i = 0; i < 100 && tokens.moving.load(std::memory_order_seq_cst) != 0; ++i) {
    ::poll(nullptr, 0, 1);
  }
  for (auto& entry : tokens.entries) {
    const std::uint64_t value = entry.exchange(kFree, std::memory_order_relaxed);
    if ((value & kHeldBit) != 0) {
      write_token(descriptor_of(value), byte_of(value));
    }
  }
}

}  // namespace btfloom
