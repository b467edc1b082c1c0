#include "jobs/choose_slots.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "jobs/jobserver.h"
#include "jobs/makeflags.h"
#include "jobs/processors.h"

namespace btfloom {
namespace {

// More than any machine has; keeps a mistyped number from asking for a million stacks.
constexpr unsigned kMostThreads = 1024;

// What was said: the command line, else BTFLOOM_JOBS, else 0.
Result<unsigned> jobs_said(const SlotRequest& request) {
  if (request.jobs != 0 || request.jobs_variable.empty()) {
    return std::min(request.jobs, kMostThreads);
  }
  const std::string_view text = request.jobs_variable;
  unsigned jobs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  if (error != std::errc{} || end != text.data() + text.size() || jobs == 0) {
    return Error{ErrorKind::kArgument,
                 "BTFLOOM_JOBS is '" + std::string(text) + "', which is not a number from 1 up",
                 {},
                 {},
                 {}};
  }
  return std::min(jobs, kMostThreads);
}

std::string threads(unsigned count) {
  return std::to_string(count) + (count == 1 ? " thread" : " threads");
}

ChosenSlots fixed(unsigned count, std::string note = {}) {
  return {fixed_slots(count), threads(count), std::move(note)};
}

// What the processors and MAKEFLAGS allow.
unsigned jobs_by_default(const JobserverConfig& config) {
  const unsigned processors = std::min(usable_processors(), kMostThreads);
  return config.jobs ? std::min(*config.jobs, processors) : processors;
}

}  // namespace

Result<ChosenSlots> choose_slots(const SlotRequest& request) {
  const unsigned said = TRY(jobs_said(request));
  if (request.mode == JobserverMode::kOff) {
    return fixed(said != 0 ? said : jobs_by_default({}));
  }
  const bool required = request.mode == JobserverMode::kRequire;
  const JobserverConfig config = parse_makeflags(request.makeflags);
  if (config.kind == JobserverConfig::Kind::kNone && !required) {
    return fixed(said != 0 ? said : jobs_by_default(config));
  }
  // make -n runs us only because the recipe is marked +, to learn what would be done; no tokens for
  // that.
  if (config.dry_run && !required) {
    return fixed(said != 0 ? said : 1, "make -n: the job server is not used");
  }
  const unsigned most = said != 0 ? said : jobs_by_default(config);
  Result<std::unique_ptr<SlotSource>> server = open_jobserver(config, most);
  if (server.ok()) {
    return ChosenSlots{
        std::move(server.value()), "job server " + config.value + ", at most " + threads(most), {}};
  }
  if (required) {
    server.error().kind = ErrorKind::kArgument;
    return std::move(server.error());
  }
  return fixed(said != 0 ? said : 1, std::move(server.error().text));
}

}  // namespace btfloom
