// The temporary files of this process that a signal must not leave behind.
//
// A fixed table of paths, so that a signal handler may walk it: register_temporary() before the
// file is created, forget_temporary() once it is renamed or gone. Thread-safe;
// unlink_all_temporaries() is async-signal-safe.
#pragma once

#include <string>

namespace btfloom {

// False if the table is full or the path too long: the file then survives a signal.
bool register_temporary(const std::string& path);
void forget_temporary(const std::string& path);

// Unlinks every registered file. For signal handlers.
void unlink_all_temporaries();

}  // namespace btfloom
