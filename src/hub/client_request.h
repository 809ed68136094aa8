// ClientRequest: one request of a client on its way to its last reply: an upload, a question, or a
// subscription (Watch, ReadEnds), which lasts until its job has ended or the client drops it.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/packed_edges.h"
#include "hub/caller.h"
#include "hub/job_habits.h"
#include "hub/jobs.h"
#include "hub/journal_reader.h"
#include "hub/pace.h"
#include "hub/peer_memory.h"
#include "hub/turns.h"
#include "wire/client_messages.h"
#include "wire/field_bytes.h"

namespace spate::hub {

class ClientRequest;
class ClientSession;

// Services that requests need of its hub, apart from the jobs.
class ClientHost {
 public:
  virtual ~ClientHost() = default;
  // Nodes that are connected, or may come by themselves (pools): 0 tells people to start one.
  virtual uint32_t nodes_joined() const = 0;
  // Tasks of a job that wait for what their commands left running.
  virtual std::vector<LeftRunningFacts> LeftRunning(JobId) const { return {}; }
  virtual const JobHabits& HabitsOf(RowKind kind) const = 0;
  // Only a request whose turn it is has the reader answer.
  struct Readers {
    Turns& turns;
    JournalReader& reader;
    Pace& changes;  // changes of jobs, which the journal records
  };
  virtual Readers readers() = 0;
  // When a question may be answered that costs the hub's loop much: now, or soon, since its user
  // asks many. kBusy: the user asks too many. kCorrupt: no program of ours asks this.
  virtual Result<Instant> WhenToAnswer(const Caller&, const wire::Query&) { return Instant(); }
  // Answers by the request, now or later.
  virtual void OnQuery(ClientRequest& client, wire::Query query) = 0;
};

class ClientRequest {
 public:
  // `session` outlives it.
  ClientRequest(ClientSession& session, uint32_t id, wire::RequestKind kind);
  ~ClientRequest();
  ClientRequest(const ClientRequest&) = delete;
  ClientRequest& operator=(const ClientRequest&) = delete;

  // ---- For its session
  // Takes its first message, and later ones of an upload; `bytes` is the message as it came. The
  // request is refused if it would exceed its user's bound of memory.
  void Receive(wire::Request request, std::string_view bytes);
  bool subscribes() const {
    return kind_ == wire::RequestKind::kWatch || kind_ == wire::RequestKind::kReadEnds;
  }
  // More messages of an upload may come.
  bool takes_more() const { return takes_more_; }
  // The client has taken so many bytes of the replies.
  void Taken(uint32_t bytes);
  // Goes on with what waited for room.
  void RoomAgain();
  // Nothing more is said of it.
  void Over();

  // ---- For answers
  const Caller& caller() const { return caller_; }
  // `fn`, which does nothing once this request is over.
  template <typename Fn>
  std::function<void()> Guarded(Fn fn) {
    return [alive = alive_, fn = std::move(fn)] {
      if (*alive) fn();
    };
  }
  // The same, when what was posted before has become durable.
  template <typename Fn>
  void WhenSettled(Fn fn) {
    jobs_.WhenSettled(Guarded(std::move(fn)));
  }
  // One answer to its question; End follows the last one.
  template <typename T>
  void SendAnswer(const T& answer) {
    SendAnswerBytes(wire::BytesOf(answer));
  }
  void SendAnswerBytes(std::string answer) { Send(wire::QueryAnswer{std::move(answer)}); }
  void End() {
    Send(wire::QueryDone());
    Over();
  }
  // The last reply.
  void Fail(const Error& error);
  void Refuse(const wire::Failed& failed);
  // The answer is the journal's.
  void Read(const wire::Request& request);
  // True: the job can be changed. False: it is being loaded again, and the request comes once more
  // after that: leave it alone.
  Result<bool> IsThere(JobId job);
  // True: it may make this number of changes of jobs. False: not yet, see IsThere.
  Result<bool> MayChange(uint64_t changes);

 private:
  // A job on its way in.
  struct Upload {
    wire::Submit submit;
    JobId job;
    TaskIndex next = 0;       // of its rows
    uint32_t pieces = 0;      // of the files that it brings along
    bool known = false;       // accepted before: what comes is dropped
    uint32_t grown_from = 0;  // of a job that was there
    uint64_t unpaid = 0;      // bytes of the Submit that KeptBytes has not counted
    Readings readings = {};
    PackedEdges packed = {};
    std::vector<Edge> edges = {};  // the same, unpacked at the upload's end
  };

  void Handle(wire::Request request, std::string_view bytes);
  void On(wire::Submit submit);
  void On(wire::PutPieces pieces);
  void On(wire::Rows rows);
  void On(wire::Edges edges);
  void On(wire::SubmitEnd end);
  void On(wire::Watch watch);
  void On(wire::ReadEnds read);
  void On(wire::Query query);
  bool WaitsToAsk(const wire::Query& query);
  void On(const wire::DropRequest&) {}   // the session's
  void On(const wire::RepliesTaken&) {}  // the session's
  Status CheckUpload(Upload& upload);
  static Status CheckEnd(const Upload& upload, const wire::SubmitEnd& end);
  // Finds a job by its name.
  Status FindNamed(Upload& upload);
  const JobHabits& HabitsOf(const Upload& upload) const {
    return host_.HabitsOf(upload.submit.settings->row_kind);
  }
  Status CheckAfter(const JobPlan& plan) const;
  // True: the hub may keep this message of an upload. False: the message is handled again when
  // KeptBytes has answered, or the request was refused.
  bool MayKeep(const wire::Request& request, uint64_t bytes);
  // True if all is read that the job needs to be accepted; as IsThere.
  Result<bool> IsReady();
  void Accept(Upload upload, wire::SubmitEnd end, uint64_t most_kept);
  Why WhyNever(const wire::SubmitEnd& end) const;
  void Grow(Upload upload, wire::SubmitEnd end);
  void AwaitAccepted(JobId job, bool known);
  void AwaitFirstTry(const Upload& upload);
  void Accepted(JobId job, bool known, TaskIndex first = 0);
  void HandleNext();
  void StartReader(const wire::Request& request, Instant since);
  void PassOn(std::string_view reply);
  void PauseReader(bool paused);
  void Stuck();
  void ReaderEnded(std::optional<JournalReader::End> end);
  void LeaveTurn();
  void FollowOn();
  std::function<void(Status)> Continuation();
  void Listen(JobId job);
  void TellNews();
  void Send(const wire::Reply& reply);
  void SendBytes(std::string_view reply);
  bool HasRoom() const;
  void Weigh(int64_t bytes);
  void SetKept(size_t bytes);
  // False: its user is over a bound of memory, and the request has failed.
  bool KeepMore(size_t bytes);
  void AbandonUpload();

  ClientSession& session_;
  Jobs& jobs_;
  ClientHost& host_;
  const Caller& caller_;
  const uint32_t id_;
  const wire::RequestKind kind_;
  uint64_t untaken_ = 0;              // bytes that were sent and not taken
  int64_t weight_ = 0;                // bytes of messages that wait here
  size_t kept_ = 0;                   // memory of these and of all else that is kept for it
  std::deque<std::string> messages_;  // the first one for what it needs, others behind it
  bool waits_ = false;                // the first one does
  Status needed_;                     // what became of that
  bool takes_more_ = false;           // between a Submit and its end
  bool refused_ = false;              // what still comes of the upload is dropped
  enum class Paid : uint8_t { kNo, kAsked, kYes } paid_ = Paid::kNo;  // state of MayKeep
  std::optional<Upload> upload_;
  uint64_t listening_ = 0;
  JobId job_;                              // that it listens to
  uint32_t missed_ = 0;                    // news that were left out
  uint64_t turn_ = 0;                      // of Turns, which it waits for or has
  std::unique_ptr<JournalAnswer> answer_;  // that comes from the journal
  std::optional<wire::ReadEnds> follows_;  // from where on, when there is something new
  bool has_news_ = false;                  // of the job, since its reader was started
  bool may_ask_ = false;                   // its question's turn has come
  bool may_change_ = false;                // the turn of its changes has come
  std::function<void(Status)> at_room_;    // goes on with it when there is room for the answer
  // Position for another reader, after the reply that filled the window; none: within a long stream
  // of output.
  std::optional<uint64_t> resumes_at_;
  os::TimerId stuck_ = 0;  // the reader is paused
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::hub
