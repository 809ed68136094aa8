// Node: the thin shell around the agent. Leases come in from the hub, bodies are built from their
// rows, orders go to the executor, and what it tells goes through the agent back to the hub.
//
// Thread: the loop's. All that comes in one turn of the loop becomes one step of the agent.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/agent/agent.h"
#include "core/model/machine_load.h"
#include "format/dialect.h"
#include "node/answers_out.h"
#include "node/executor.h"
#include "node/held_ends.h"
#include "node/kept_streams.h"
#include "node/put_files.h"
#include "node/task_users.h"
#include "os/loop.h"
#include "transport/channel.h"
#include "wire/messages.h"

namespace spate::node {

using HubChannel = transport::Channel<wire::ToHub, wire::ToNode>;

class Node final : public ExecutorEvents {
 public:
  struct Parts {
    os::Loop& loop;
    Executor& executor;
    std::function<MachineLoad()> sample_load;  // null: never sampled
    PutFiles* files = nullptr;                 // null: jobs bring none along
    KnownUsers* users = nullptr;               // null: tasks run as whoever runs the node
    // Tell the hub what the machine has free, and what runs: at most so often. Zero: never.
    Duration tell_every = {};
    KeptStreams kept = {};
    int umask = -1;                  // of jobs that have none of their own; -1: the process' own
    format::Dialects dialects = {};  // of the jobs that run here
    Doubt doubt = {};                // of a pilot: what CutOff does to ends that are held
    // The variable that selects a task's GPUs (MachineFacts).
    std::string gpu_variable = "CUDA_VISIBLE_DEVICES";
    // Null: attempts run in a program of their own, and nobody can be asked about them.
    AskRun ask_run = nullptr;
    ListProcesses list_processes = nullptr;  // null: nobody can
    // Sees each message of the hub before the node does. True: it has taken the message. Null:
    // nobody does.
    std::function<bool(wire::ToNode&)> first = nullptr;
    // The commands of an attempt have ended, and what they left running is waited for
    // (ExecutorEvents::OnLeftRunning). Null: the hub alone is told.
    std::function<void(const AttemptRef&, const std::string& processes)> left_running = nullptr;
    // Why the disk has no room for what tasks write; empty: it has. Null: it always has.
    std::function<std::string()> no_room = nullptr;
    // Looks at that all the time, and tells the hub; else only once an attempt has met a full disk.
    bool watches_room = false;
    // Folders that it or its tasks write to, for people who ask how full their disks are.
    std::vector<std::string> folders = {};
  };
  // All parts outlive the node.
  Node(NodeId id, Offer offer, Parts parts, const Limits& limits = kLimits);
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Remains of an earlier process of this node (ProcessExecutor::Adopt); before the first Connect.
  void Adopt(Adopted adopted);
  // Address at which others reach members of gangs here (GangHost::remote); before Connect.
  void SetRemote(std::string remote) { remote_ = std::move(remote); }
  // Says hello through `channel`, which must live until Disconnect or the node's end, and what the
  // hub has not taken of earlier reports.
  void Connect(HubChannel& channel);
  // The hub cannot be reached: attempts go on, and what they report is kept.
  void Disconnect();

  // The node ends, and why: for the hub, how the attempts that run have ended as soon as the
  // executor has, and what had ended before. Ends that are held count as cut off. The node is to do
  // nothing more.
  wire::Ends CutOff(const std::string& why);
  // The program that the node is part of was told to end: ends that are held, or come from now on,
  // are of attempts that were cut off for this reason. The node goes on.
  void CutOffHeld(const std::string& why);
  // Attempts have ended that the hub has not been told of, as they are held (Doubt).
  bool HoldsEnds() const { return !held_.empty(); }

  // The terminal (or whatever takes the output) cannot take more: start nothing for now.
  void SetOutputBlocked(bool blocked);
  // The executor was told to stop all that runs (Executor::Pause), or to let it go on: time limits
  // stand still meanwhile, from now on. This process may be about to stop itself.
  void SetPaused(bool paused);
  const agent::Agent& agent() const { return agent_; }
  // A held attempt, for people; nothing if its settings are unknown: an earlier process started it.
  struct Held {
    const JobSettings& settings;
    std::string_view row;
  };
  std::optional<Held> Find(const AttemptRef& ref) const;

  // ExecutorEvents
  void OnStarted(const AttemptRef& ref, Instant when) override;
  void OnEnded(AttemptEnd end, TaskOutputPtr output) override;
  void OnTakenBack(const AttemptRef& ref) override;
  void OnOutput(const AttemptRef& ref, int stream, std::string_view bytes) override;
  void OnMemory(const AttemptRef& ref, uint64_t bytes) override;
  void OnLeftRunning(const AttemptRef& ref, const std::string& processes) override;
  void OnFrozen(const AttemptRef& ref, bool frozen, Instant stop) override;
  // For the hub.
  void ReportSlowed(const SlowedBeside& what) { Send(wire::Slowed{what}); }
  void OnExceeded(const AttemptRef& ref, const Excess& excess) override;
  void OnResized(const AttemptRef& ref, const std::string& refused) override;

 private:
  struct OpenJob {
    std::shared_ptr<const JobSettings> settings;
    // Null when the settings do not compile; every task of the job then fails with `problem`.
    format::CompiledJob compiled;
    std::string problem;
    bool keeps_stderr = false;
  };
  // A job whose next lease waits for files. What the hub says of the job meanwhile waits behind it,
  // in order. Nothing of it is held for the hub: a new connection begins anew.
  struct Fetch {
    Instant since;
    std::deque<wire::ToNode> held;
    std::vector<PutFile> missing;  // contents; the last one is under way
    uint32_t piece = 0;            // the one that was asked for
  };

  // The same of one whose user is looked up.
  struct Stranger {
    Instant since;
    std::string user;
    std::deque<wire::ToNode> held;
  };

  void OnMessage(wire::ToNode message);
  void OnAsk(wire::Ask ask);
  void AskForUser(const wire::OpenJob& open);
  void Obey(wire::ToNode message);
  std::vector<PutFile> MissingFor(const wire::Lease& lease) const;
  const PutFile* FindPut(const OpenJob& job, const std::string& name) const;
  void AskFor(JobId job, Fetch& fetch);
  void On(wire::PutPiece piece);
  void Send(wire::ToHub message);
  void DropReports(uint64_t up_to);
  // Sends an Ends or Returned, and keeps it until the hub has taken it.
  template <typename Report>
  void SendReport(Report report);
  std::vector<HeldTasks> Holds() const;
  void Post(agent::Event event);
  void ReportBelieved();
  void WatchHeld();
  void StepNow();
  void CarryOut(agent::Output& out);
  void Start(const agent::StartAttempt& order);
  void Environment(const agent::StartAttempt& order, TaskBody& body) const;
  static void TaskEnvironment(const AttemptRef& ref, TaskBody& body);
  void SampleLoad();
  void LookAtRoom(bool in_doubt);
  void TellState();
  void TellChanged();
  std::vector<wire::NodeState::Wait> Waits(Instant now) const;

  const NodeId id_;
  const Offer offer_;
  Parts parts_;
  std::string remote_;
  HubChannel* channel_ = nullptr;  // null: not connected
  uint64_t connections_ = 0;       // so far
  AnswersOut answers_{[this](wire::AnswerPiece piece) { Send(std::move(piece)); }};
  uint64_t reports_ = 0;
  std::deque<std::pair<uint64_t, wire::ToHub>> untaken_;  // with their numbers
  agent::Agent agent_;
  std::map<JobId, OpenJob> jobs_;
  std::map<JobId, Stranger> strangers_;
  std::map<JobId, Fetch> fetches_;
  std::optional<JobId> fetching_;  // the one that has asked: no more than one piece is under way
  std::unordered_map<AttemptRef, std::string, AttemptRefHash> rows_;  // of all that it holds
  // Output of ends on their way through the agent.
  std::unordered_map<AttemptRef, TaskOutputPtr, AttemptRefHash> outputs_;
  std::unordered_map<AttemptRef, std::string, AttemptRefHash> left_running_;  // of what runs
  HeldEnds held_;           // that the agent has reported, and the hub has not heard of
  std::string cut_off_by_;  // CutOffHeld; empty: it was not called
  os::TimerId held_timer_ = 0;
  Instant held_at_;  // of the timer
  std::vector<agent::Event> events_;
  bool step_scheduled_ = false;
  bool load_scheduled_ = false;
  os::TimerId timer_ = 0;
  std::string no_room_;   // as the agent knows it
  wire::NodeState told_;  // what the hub has heard last,
  Instant told_at_;       // and when
  // It has been told of a start that waits for its slot (StartAttempt::ahead).
  bool told_early_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::node
