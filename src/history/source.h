// Sources of answers: the journal of a hub, or the runs in a state folder; and the asking user.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "core/model/job.h"
#include "core/model/job_facts.h"
#include "format/dialect.h"
#include "store/history.h"

namespace spate::history {

// The user who asks a hub. Only administrators see more of others' jobs than their progress.
struct Viewer {
  std::string user;
  bool is_admin = false;
};

struct Source {
  explicit Source(std::shared_ptr<const store::History> from) : history(std::move(from)) {}

  std::shared_ptr<const store::History> history;
  Viewer viewer = {};  // of a hub's jobs
  std::map<uint32_t, JobLive> live = {};
  // How the rows of a job become commands.
  std::function<Result<JobSettings>(const store::JobRow&)> settings;
  format::Dialects dialects = {};
  std::function<Instant()> now;
  std::string proc = "/proc";

  bool on_hub() const { return history->place().is_hub; }
  // "in 'STATE'" or "on the hub".
  std::string PlaceText() const;
  // True if the viewer may see what a job is about.
  bool MaySee(const store::JobRow& row) const;
  // kNotFound; kCorrupt; kPermission: it is another user's.
  Result<std::unique_ptr<store::JobJournal>> Open(uint32_t job) const;
};

}  // namespace spate::history
