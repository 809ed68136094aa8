// What the history commands (job, task, state) see of the world; apps/ fills it in, tests make it
// up.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "core/model/job.h"
#include "format/dialect.h"
#include "store/sqlite/job_row.h"

namespace spate::cli {

// Who asks a hub. Of others' jobs only administrators see more than how far they got.
struct Viewer {
  std::string user;
  bool is_admin = false;
};

struct HistoryEnvironment {
  // The folder of a hub: its jobs are meant, and not those of runs. Empty: those of runs.
  std::string hub_dir;
  Viewer viewer;  // of a hub's jobs
  // What makes commands mean jobs of this hub, where its viewer is: " --access FILE".
  std::string reach;
  // Of a hub's jobs that wait: why, as the hub itself knows it.
  std::map<uint32_t, std::string> waits;
  // Where jobs live, absolute: as typed with --state, or by the environment when that is empty.
  std::function<std::string(const std::string& typed)> state_dir;
  // How the rows of a job become commands.
  std::function<Result<JobSettings>(const store::JobRow&)> settings;
  format::Dialects dialects = {};
  std::function<Status(std::string_view)> write_out;
  std::function<void(std::string_view)> write_err;
  std::function<Instant()> now;
  // Whose jobs these are, where it could be another's: "hub n1", "this machine". Empty: it cannot.
  std::string title;
  std::string cwd;        // absolute
  bool terminal = false;  // of standard output: relative times
  bool colour = false;
  uint32_t width = 80;  // or kWholeWidth
  std::string proc = "/proc";
};

}  // namespace spate::cli
