// The resource file of CL-MW 0.4 (docs/formats/resource-file.md): what a master wants of whoever
// starts its slaves, and where these find it. Byte for byte as CL-MW writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spate::mw {

// A reader takes no more: a file comes from others.
inline constexpr size_t kResourceFileBytesMax = 1 << 20;
inline constexpr size_t kResourceWordsMax = 4096;  // libraries, arguments
// Seconds and counts, in the file. Sums of a few then always fit.
inline constexpr int64_t kResourceNumberMax = 1'000'000'000'000'000;

// The values here are those of keys that a file does not have.
struct ResourceFile {
  // The computation is over: a slave has nothing to do.
  bool finished = false;
  // Finished because its master's function threw, so slaves and overseers fail, too.
  bool failed = false;
  // When it was written: seconds since 1970, not before 1900. A file without it is stale.
  int64_t timestamp = 0;
  // The id that a slave must present. It protects against a reused port, not against enemies.
  std::string member_id = "default-member-id";
  // Seconds until the master writes the file anew; at least 0.
  int64_t update_interval = 300;
  // Slaves that are missing, at least 0. Those that were asked for and have not come yet are among
  // them.
  int64_t slaves_needed = 0;
  // Absolute paths: the program, and shared libraries to ship with it.
  std::string executable;
  std::vector<std::string> libraries;
  // With what to start it. SlaveArguments makes them.
  std::vector<std::string> slave_arguments;
  // Ours alone, and not looked into here: how a slave of Spate proves itself. Empty: not there.
  std::string access;

  friend bool operator==(const ResourceFile&, const ResourceFile&) = default;
};

// The arguments with which CL-MW's master has slaves started. The member id is not among them.
std::vector<std::string> SlaveArguments(std::string_view host, uint16_t port);
// The word behind `option` (such as --mw-master-host) among the slave's arguments; the case of
// letters does not count. nullopt without one. It refers to `file`.
std::optional<std::string_view> SlaveArgument(const ResourceFile& file, std::string_view option);

// The whole text. Numbers that no reader takes become the nearest that one does.
std::string WriteResourceFile(const ResourceFile& file);
// Keys may come in any order, of those that come twice the last one counts, and other keys and
// forms are skipped. A key that is not there keeps the value of `defaults`: a slave passes what its
// command line has said before. kInvalid: "PATH:LINE: what is wrong and what to do".
Result<ResourceFile> ReadResourceFile(std::string_view text, std::string_view path,
                                      ResourceFile defaults = {});

}  // namespace spate::mw
