// ClientSession: one client's connection to the hub: takes its requests, one after another, and
// sends the replies.
//
// Thread: the loop's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hub/credentials.h"
#include "hub/job_habits.h"
#include "hub/jobs.h"
#include "hub/turns.h"
#include "os/child.h"
#include "wire/client_messages.h"
#include "wire/field_bytes.h"
#include "wire/frame.h"
#include "wire/greeting.h"

namespace spate::hub {

// The connection of a client.
class ClientPort {
 public:
  struct Events {
    std::function<void(std::string_view)> request;
    std::function<void()> writable;  // `queued` has become small
    std::function<void()> closed;    // may destroy the port
  };
  virtual ~ClientPort() = default;
  virtual void Start(Events events) = 0;
  // False: so much is queued that the sender should pause.
  virtual bool Send(std::string_view reply) = 0;
  virtual size_t queued() const = 0;  // bytes
  virtual void PauseReading(bool paused) = 0;
  // Tells why, and closes; also of a breach of the protocol.
  virtual void Refuse(const wire::Refusal& why) = 0;
  virtual void Close() = 0;
};

class ClientSession;

// What a session needs of its hub beside the jobs.
class ClientHost {
 public:
  virtual ~ClientHost() = default;
  // That are connected, or may come by themselves (pools): 0 tells people to start one.
  virtual uint32_t nodes_joined() const = 0;
  virtual const JobHabits& HabitsOf(RowKind kind) const = 0;
  // Only a session whose turn it is starts a reader.
  virtual Turns& reader_turns() = 0;
  // A process that answers `input` (a frame with a Request) from the journal, in Reply frames; the
  // last of them is a Heartbeat; one with a position (decimal) says that ReadEnds is to be asked
  // again from there, when there is news.
  virtual Result<std::unique_ptr<os::Child>> StartReader(const Caller& caller, std::string input,
                                                         os::Child::Events events) = 0;
  // Answers by the session, now or later.
  virtual void OnQuery(ClientSession& client, wire::Query query) = 0;
};

class ClientSession {
 public:
  // `closed` is called by the loop when the connection has ended; it may destroy the client.
  ClientSession(Jobs& jobs, ClientHost& host, Caller caller, std::unique_ptr<ClientPort> port,
                std::function<void()> closed);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  const Caller& caller() const { return caller_; }
  void Close() { port_->Close(); }
  // Its access has come to an end.
  void Refuse(const std::string& why) { port_->Refuse({wire::RefusalCode::kCredential, why}); }

  // What commands answer with.
  // `fn`, which does nothing once this client is gone.
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
  void Give(const T& answer) {
    Send(wire::QueryAnswer{wire::BytesOf(answer)});
  }
  void End() { Send(wire::QueryDone()); }
  void Fail(const Error& error);
  // The answer is the reader's.
  void Read(const wire::Request& request);
  // Whether a job is there to be changed. False: it is being taken up again, and the request that
  // is at hand comes once more when it is: leave it alone.
  Result<bool> IsThere(JobId job);

 private:
  // A job on its way in.
  struct Upload {
    wire::Submit submit;
    JobId job;
    TaskIndex next = 0;       // of its rows
    uint32_t pieces = 0;      // of the files that it brings along
    bool known = false;       // accepted before: what comes is dropped
    uint32_t grown_from = 0;  // of a job that was there
    Readings readings = {};
    std::vector<Edge> edges = {};
  };

  void OnRequest(std::string_view bytes);
  void Breach(std::string reason);
  void On(wire::Submit submit);
  void On(wire::PutPieces pieces);
  void On(wire::Rows rows);
  void On(wire::Edges edges);
  void On(wire::SubmitEnd end);
  void On(wire::Watch watch);
  void On(wire::ReadEnds read);
  void On(wire::Query query);
  Status CheckUpload(Upload& upload);
  static Status CheckEnd(const Upload& upload, const wire::SubmitEnd& end);
  // Of a job that is found by its name.
  Status FindNamed(Upload& upload);
  const JobHabits& HabitsOf(const Upload& upload) const {
    return host_.HabitsOf(upload.submit.settings->row_kind);
  }
  Status CheckAfter(const JobPlan& plan) const;
  // What the hub may keep of the output of the user's jobs; 0: any size.
  uint64_t MostOutput() const;
  // What it may still keep; an error: nothing.
  Result<uint64_t> OutputLeft(const Readings& readings) const;
  // Whether all is read that the job needs to be accepted; as IsThere.
  Result<bool> IsReady();
  void Accept(Upload upload, wire::SubmitEnd end);
  std::string WhyNever(const wire::SubmitEnd& end) const;
  void Grow(Upload upload, wire::SubmitEnd end);
  void AwaitAccepted(JobId job, bool known);
  void Accepted(JobId job, bool known, TaskIndex first = 0);
  void SlowDown();
  void HandleNextRequests();
  void WaitForTurn(std::string input);
  void StartReader(const std::string& input);
  void PassOn(std::string_view bytes);
  void PauseReader(bool paused);
  void ReaderEnded();
  void LeaveTurn();
  void FollowOn();
  std::function<void(Status)> Continuation();
  void TellNews(JobId job);
  bool Send(const wire::Reply& reply);

  Jobs& jobs_;
  ClientHost& host_;
  const Caller caller_;
  std::unique_ptr<ClientPort> port_;
  std::function<void()> closed_;
  std::optional<Upload> upload_;
  uint64_t listening_ = 0;
  uint64_t turn_ = 0;  // of Turns, which it waits for or has
  std::unique_ptr<os::Child> reader_;
  wire::FrameReader reader_frames_;
  std::optional<std::string> reader_done_;  // its last word
  std::optional<wire::ReadEnds> follows_;   // from where on, when there is something new
  bool has_news_ = false;                   // of the job, since its reader was started
  os::TimerId stuck_ = 0;                   // the reader is paused
  bool waits_ = false;                      // the first of the next requests, for what it needs
  Status needed_;                           // what became of that
  std::deque<std::string> next_requests_;   // that came while there is a reader, or one waits
  os::TimerId slow_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::hub
