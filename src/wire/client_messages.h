// Messages between a client and the hub. A connection carries one request at a time: the client
// sends it, and the hub answers with replies, the last of which is Failed, Accepted, QueryDone, or
// news of a job (or ends) with `finished`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/facts.h"
#include "core/model/graph.h"
#include "core/model/job.h"
#include "wire/messages.h"
#include "wire/question.h"
#include "wire/questions.h"

namespace spate {

// Newer programs may know more.
constexpr ErrorKind LastInBytes(ErrorKind) { return ErrorKind::kIo; }
constexpr ErrorKind UnknownOf(ErrorKind) { return ErrorKind::kIo; }

}  // namespace spate

namespace spate::wire {

// ---- Client to hub -----------------------------------------------------------------------------

// Begins a job, or more tasks for an open one. PutPieces, Rows, Edges and one SubmitEnd follow. A
// submission that the hub has accepted before is accepted again, as the same job. Where
// jobs of its kind of rows grow by name (hub/job_habits.h), its tasks are added to that job
// instead, also when it has ended, and kBusy says that somebody else adds some at the same time.
struct Submit {
  static constexpr uint32_t kNumber = 2;
  std::string submission;  // the client's name for it, unique
  std::string host;        // where it was typed; empty: as the name has it before its first '/'
  std::shared_ptr<const JobSettings> settings;
  JobPolicy policy;
  std::vector<std::string> argv;   // what was typed after `submit`
  std::vector<std::string> files;  // absolute paths of the lists
  std::string name;
  uint64_t keep_output = 0;
  int priority = 0;
  bool open = false;
  struct After {
    JobId job;
    uint32_t kind = 0;
    SPATE_FIELDS(1, Must(job), 2, Bound(kind, .most = 3));
  };
  std::vector<After> after;
  JobId add_to;  // 0: a new job
  // The job's number of tasks, as far as the client knows; refused (kExists) when it has another
  // one, so that what was added without the client's knowledge is not added twice.
  std::optional<uint32_t> known_tasks;
  // The policy's, also for who knows fewer fields of a policy. The codec sets them.
  uint32_t max_running = 0;
  uint32_t weight = 0;
  static constexpr uint64_t kTextBytes = kLimits.text_bytes;
  SPATE_MESSAGE(1, Bound(submission, .must = true, .most = kLimits.name_bytes), 2, Must(settings),
                3, policy, 4, argv, 5, files, 6, name, 7, Bound(keep_output, .most = kLimits.size),
                8, Bound(priority, .least = -1'000'000, .most = 1'000'000), 9, max_running,
                10, open, 11, Packed(after, .count = kWireLimits.after, .of = "jobs"), 13, add_to,
                14, weight, 15, known_tasks, 16, Bound(host, .most = kLimits.name_bytes));
};
// The next pieces of what the job brings along (core/model/task_files.h).
struct PutPieces {
  static constexpr uint32_t kNumber = 7;
  std::vector<std::string> pieces;
  static constexpr uint64_t kTextBytes = kPutPieceBytes;
  SPATE_MESSAGE(1, pieces);
};
struct Rows {
  static constexpr uint32_t kNumber = 3;
  std::vector<std::string> rows;
  static constexpr uint64_t kTextBytes = kWireLimits.row_bytes;
  SPATE_MESSAGE(1, rows);
};
// The next edges among its tasks. New tasks are numbered from SubmitEnd::known_tasks on, and only
// they have parents; those of a parent are best neighbours.
struct Edges {
  static constexpr uint32_t kNumber = 9;
  std::vector<Edge> edges;
  SPATE_MESSAGE(1, Columns(edges));
};
struct SubmitEnd {
  static constexpr uint32_t kNumber = 4;
  uint32_t count = 0;
  std::vector<TaskClass> requests;
  std::vector<RequestRun> runs;
  std::vector<TaskIndex> order;
  uint32_t known_tasks = 0;  // as many the job has, as far as the edges know
};
// Job 0: the newest of the user. Answered by JobNews at once, and whenever something has changed,
// until the job has finished.
struct Watch {
  static constexpr uint32_t kNumber = 5;
  JobId job;
  SPATE_MESSAGE(1, job);
};
// Answered by EndsRead, with the ends of the job behind this position of the journal, until the
// job has finished.
struct ReadEnds {
  static constexpr uint32_t kNumber = 6;
  JobId job;
  uint64_t after = 0;
  SPATE_MESSAGE(1, Must(job), 2, after);
};
// A question or a change (wire/questions.h). Answered by QueryAnswers, and then QueryDone or
// Failed.
struct Query {
  static constexpr uint32_t kNumber = 8;
  Question question;
  std::vector<JobLive> live = {};  // for the hub's reader: in frames behind this
};
// Ends the request with the id of this message, whatever it is waiting for; it has no reply, and
// what is on its way in reply to that request is ignored. One that is over already is left alone.
struct DropRequest {
  static constexpr uint32_t kNumber = 10;
  SPATE_MESSAGE();
};
// So many more bytes of the replies to the request with the id of this message were taken. A hub
// sends only so many ahead of that (WindowOf).
struct RepliesTaken {
  static constexpr uint32_t kNumber = 11;
  uint32_t bytes = 0;
  SPATE_MESSAGE(1, bytes);
};
using Request = std::variant<Submit, Rows, SubmitEnd, Watch, ReadEnds, PutPieces, Query, Edges,
                             DropRequest, RepliesTaken>;

// Requests of one connection at once.
inline constexpr size_t kRequestsAtOnce = 4096;

// Many requests go over one connection: before each message of a client stands the id of its
// request, a number that no other request under way has, and before each reply the id of the
// request that it answers. All messages of an upload have the same one.
enum class RequestKind : uint8_t { kUpload, kQuery, kWatch, kReadEnds };
inline RequestKind KindOf(const Request& request) {
  if (std::holds_alternative<Query>(request)) return RequestKind::kQuery;
  if (std::holds_alternative<Watch>(request)) return RequestKind::kWatch;
  if (std::holds_alternative<ReadEnds>(request)) return RequestKind::kReadEnds;
  return RequestKind::kUpload;
}
// After so many bytes of replies that were not taken, a hub sends no more of them. News are states,
// of which the newest is enough.
inline constexpr uint32_t WindowOf(RequestKind kind) {
  return kind == RequestKind::kWatch ? 4u << 10 : 256u << 10;
}

// ---- Hub to client -----------------------------------------------------------------------------

struct Failed {
  static constexpr uint32_t kNumber = 1;
  ErrorKind kind = ErrorKind::kInvalid;
  std::string text;    // or `why`
  Remedy remedy = {};  // behind either
  Why why = {};
  SPATE_MESSAGE(1, kind, 2, Bound(text, .most = kWireLimits.note_bytes, .cut = true), 3, remedy,
                4, why);
};
struct Accepted {
  static constexpr uint32_t kNumber = 2;
  JobId job;
  bool known = false;   // the submission had been accepted before
  uint32_t nodes = 0;   // that are connected
  TaskIndex first = 0;  // of the tasks that were added to a job
  Why why = {};         // as JobNews::why
  SPATE_MESSAGE(1, Must(job), 2, known, 3, nodes, 4, first, 6, why);
};
// The next of a stream of an end that comes in EndsRead behind it.
struct Printed {
  static constexpr uint32_t kNumber = 3;
  uint8_t stream = 1;
  std::string bytes;
  SPATE_MESSAGE(1, Bound(stream, .least = 1, .most = 2),
                2, Bound(bytes, .most = kWireLimits.piece_bytes));
};
struct JobNews {
  static constexpr uint32_t kNumber = 5;
  JobId job;
  JobCounts counts;
  bool finished = false;
  uint32_t held = 0;  // engine::HoldReason
  uint32_t nodes = 0;
  // The reason why a job that is not held cannot continue by itself; empty: there is none.
  Why why = {};
  std::vector<LeftRunningFacts> left = {};  // some of them, when there are many
  // So many news before this one were left out, since the client did not take those before them.
  uint32_t missed = 0;
  std::vector<NotKeptFacts> not_kept = {};  // of a job that is held or has finished
  SPATE_MESSAGE(1, Must(job), 2, Embed(counts),  // to 8
                9, finished, 10, held, 11, nodes, 13, left, 14, why, 15, missed, 16, not_kept);
};
struct EndsRead {
  static constexpr uint32_t kNumber = 6;
  Ends ends;                      // without a number
  std::vector<Verdict> verdicts;  // one for each end
  uint64_t position = 0;          // of the last one
  bool finished = false;          // the job has, and nothing is behind this position
};
// An answer of the type that the question names.
struct QueryAnswer {
  static constexpr uint32_t kNumber = 7;
  std::string bytes;  // wire/field_bytes.h
  SPATE_MESSAGE(1, bytes);
};
struct QueryDone {
  static constexpr uint32_t kNumber = 8;
  SPATE_MESSAGE();
};
using Reply = std::variant<Failed, Accepted, Printed, JobNews, EndsRead, QueryAnswer, QueryDone>;

// True if nothing more comes in reply to such a request.
inline bool IsLast(RequestKind kind, const Reply& reply) {
  if (const auto* news = std::get_if<JobNews>(&reply)) {
    return news->finished && kind == RequestKind::kWatch;
  }
  if (const auto* read = std::get_if<EndsRead>(&reply)) return read->finished;
  return std::holds_alternative<Failed>(reply) || std::holds_alternative<Accepted>(reply) ||
         std::holds_alternative<QueryDone>(reply);
}

}  // namespace spate::wire
