// NamePool: names that stand in no input and must live as long as those that do. Few are made, so
// one lock serves all workers. Thread-safe.
#pragma once

#include <deque>
#include <mutex>
#include <string>

namespace btfloom {

class NamePool {
 public:
  // The name stays valid as long as the pool. Equal names may be stored twice.
  const char* keep(std::string name) {
    const std::lock_guard lock(mutex_);
    return names_.emplace_back(std::move(name)).c_str();
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> names_;  // needs mutex_; its elements never move
};

}  // namespace btfloom
