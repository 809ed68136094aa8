// Surroundings of the history commands (job, task, report); apps/ fills them in, tests make them
// up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "client/asker.h"

namespace spate::cli {

struct HistoryEnvironment {
  // The side that answers: the hub; where that is null, the reader of the runs in a state folder.
  client::Asker* hub = nullptr;
  std::function<Result<client::Asker*>(const std::string& state_dir)> here;
  // Absolute folder of runs: as typed with --state, or by the environment when that is empty.
  std::function<std::string(const std::string& typed)> state_dir;
  // Sockets of programs that run here with jobs of their own (--at). May be null.
  std::function<std::vector<std::string>(const std::string& state_dir)> masters = {};
  // Options that make commands mean jobs of this hub: " --access FILE".
  std::string reach;
  std::function<Status(std::string_view)> write_out;
  std::function<void(std::string_view)> write_err;
  std::function<Instant()> now;
  std::function<void(Duration)> pause = {};  // between two calls to whoever answers
  // Owner of these runs, if a hub's jobs could be meant: "this machine". Empty: they cannot.
  std::string title;
  std::string cwd;        // absolute
  bool terminal = false;  // of standard output: relative times
  bool colour = false;
  uint32_t width = 80;  // or kWholeWidth
};

}  // namespace spate::cli
