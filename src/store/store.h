// Store: the journal of one hub or run. Records in, durable later; everything back at a restart.
//
// Threads: all functions are called on the loop's thread; completions arrive there too. The real
// store commits on a thread of its own.
// Guarantees: commits are in order; a completion means that the bundle, and all before it, survive
// a kill -9 of the process and a loss of power. A failed commit is fatal to the owner: the first
// bundle that did not become durable, all that are queued behind it and all that come later get its
// error, and nothing is ever written again.
// Precision: attempts are rounded (store/attempt_entry.h, RoundToStored): the owner rounds an end
// before the engine sees it, so that live and replayed state are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/engine/record.h"
#include "core/model/attempt.h"

namespace spate::store {

// The rows (core/model/job.h) of consecutive tasks. A row is any bytes.
struct RowChunk {
  JobId job;
  TaskIndex first = 0;
  std::vector<std::string> rows;
};

struct Bundle {
  std::vector<RowChunk> rows;
  std::vector<engine::Record> records;
  // outputs[i] belongs to the i-th AttemptEnded of `records`; null or missing: it wrote nothing.
  std::vector<TaskOutputPtr> outputs;
  // When it was decided: the end of those jobs whose last record is among `records`.
  Instant now;
  // Somebody waits for it, and for nothing else: it is committed as soon as can be.
  bool urgent = false;
};
// Bytes of memory that a queued bundle takes, about. Cheap: looks at each record and row once.
uint64_t BundleBytes(const Bundle& bundle);

class Store {
 public:
  virtual ~Store() = default;

  // Queues a bundle. `done` is called once on the loop's thread when it is durable, or with the
  // error that ends this store. Bundles are grouped: a few, and urgent ones, are committed at
  // once, a stream of others some hundred times a second. A bundle may be released on any thread.
  // After the store's destruction no `done` is called.
  virtual void Append(Bundle bundle, std::function<void(Status)> done) = 0;

  // Bytes queued and not yet durable; the owner slows down when it grows.
  virtual uint64_t Backlog() const = 0;
  // Since then nothing that waits could be written; nullopt: nothing waits.
  virtual std::optional<Instant> StuckSince() const { return std::nullopt; }

  // Calls `visit` with every record in order; of a hub's journal with those of jobs that have not
  // finished, and of no job. Only before the first Append.
  // Error kCorrupt names the damaged row; the file is untouched.
  virtual Status Replay(const std::function<void(const engine::Record&)>& visit) = 0;
  // At any time: the durable records of one job, also a finished one. kNotFound: there is none.
  virtual Status ReplayJob(JobId job, const std::function<void(const engine::Record&)>& visit) = 0;

  // The rows of tasks first .. first+count-1, which must be durable or queued.
  virtual Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) = 0;
};

}  // namespace spate::store
