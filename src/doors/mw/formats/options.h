// The command line of a master-worker program: CL-MW 0.4's options, and ours. They are taken out,
// whatever else there is reaches the program.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"
#include "doors/mw/formats/names.h"

namespace spate::mw {

// A slave takes what stands last: the file's word, or the option's.
struct FromFile {
  std::string path;
  friend bool operator==(const FromFile&, const FromFile&) = default;
};
struct MasterHost {
  std::string host;
  friend bool operator==(const MasterHost&, const MasterHost&) = default;
};
struct MasterPort {
  uint16_t port = 0;
  friend bool operator==(const MasterPort&, const MasterPort&) = default;
};
struct MemberId {
  std::string id;
  friend bool operator==(const MemberId&, const MemberId&) = default;
};
using Where = std::variant<FromFile, MasterHost, MasterPort, MemberId>;

struct Options {
  bool is_master = false;
  std::vector<std::string> rest;  // what is not ours, the program's name first

  std::vector<Where> where;  // in their order
  std::string host;          // --mw-master-host; empty: not given
  std::string member_id = "default-member-id";
  std::string resource_file;  // empty: none
  std::string audit_file;     // empty: standard error
  std::string access_file;    // empty: the master makes one for its resource file alone
  std::string bind;           // empty: `host`
  std::string state_dir;      // empty: none
  std::string executable;     // empty: the program itself
  Duration client_timeout = Duration::Seconds(60);
  Duration update_interval = Duration::Seconds(300);
  Duration shutdown_timeout = Duration::Seconds(60);
  uint32_t task_group = 1;
  std::optional<uint32_t> result_group;
  uint64_t result_memory = 256u << 20;  // bytes of results that wait
  // The offer of a slave.
  uint32_t slots = 1;
  uint64_t memory = 0;              // bytes; 0: not known
  std::vector<Pieces> resources;    // sorted by name
  std::vector<std::string> labels;  // sorted
  bool in_process = false;  // not on the command line: others share the process, which must not end
};

// Instead of a run: a text for people, and exit status 1.
struct Ending {
  std::string text;
  bool is_error = false;  // for standard error
  friend bool operator==(const Ending&, const Ending&) = default;
};

// `args` begin with the program's name. Names of options count without regard to case.
std::expected<Options, Ending> ReadOptions(std::span<const std::string> args,
                                           std::string_view version);
std::string Usage(std::string_view program);
// Options of what a slave offers, which a master does not take.
bool IsOffer(std::string_view option);

}  // namespace spate::mw
