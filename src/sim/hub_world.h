// HubWorld: one simulated world of a hub: a hub's process, machines with nodes, and people, each of
// which goes on when another one dies.
//
// Faults: the hub is killed at any point, stopped in order, suspended, and its disk fills; a
// node's process is killed at any point, with or without its shepherds; nodes leave, join late,
// change their names; links break, one side noticing before the other, with messages under way
// arriving or not, and stay broken for a while; nodes send lies about what others run; a batch
// system treats pilots, and those who request them, as sim_batch.h describes.
//
// Single thread, no clock, no chance but the seed: the same options give the same facts.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "os/fake_loop.h"
#include "sim/hub_people.h"
#include "sim/hub_process.h"
#include "sim/machine.h"
#include "sim/witness.h"

namespace spate::sim {

class HubWorld final : public SimBatch::Machines {
 public:
  // `print` gets every event as it happens; null: they are not printed.
  HubWorld(const Options& options, Sabotage sabotage, Printer print);
  WorldReport Run();

  void StartPilot(const std::string& name, Instant end) override;
  void EndPilot(const std::string& name) override;

 private:
  // The hub's end of a link, at which a liar may say something just before the truth is heard.
  class Ear final : public hub::NodePort {
   public:
    // False: it is not heard.
    using Before = std::function<bool(const wire::ToHub&)>;
    // `inner` is there until the hub has heard that the link is gone.
    Ear(hub::NodeChannel& inner, Before before, std::function<void(bool ends)> cut,
        std::function<void(const wire::Ask&)> asked, Sabotage sabotage)
        : inner_(inner),
          before_(std::move(before)),
          cut_(std::move(cut)),
          asked_(std::move(asked)),
          sabotage_(sabotage) {}
    void Send(wire::ToNode message) override;
    void OnMessage(std::function<void(wire::ToHub)> receiver) override {
      receiver_ = std::move(receiver);
      inner_.OnMessage([this](wire::ToHub message) {
        if (before_(message)) receiver_(std::move(message));
      });
    }
    void Refuse(const wire::Refusal& why) override {
      cut_(why.code == wire::RefusalCode::kRemoved);
    }
    void Close() override { cut_(false); }
    void Inject(wire::ToHub lie) { receiver_(std::move(lie)); }

   private:
    hub::NodeChannel& inner_;
    const Before before_;
    const std::function<void(bool ends)> cut_;
    const std::function<void(const wire::Ask&)> asked_;
    const Sabotage sabotage_;
    std::function<void(wire::ToHub)> receiver_;
  };

  // A machine, and its link to the hub.
  struct NodeHost {
    std::unique_ptr<Machine> machine;
    std::shared_ptr<LinkState> state;
    Link link;           // an end is null where nobody has it any more
    Ear* ear = nullptr;  // the hub's, as long as link.first is there
    bool heard = false;  // both ends are there, and the link is whole
    Instant unheard_at;
    bool away = false;       // it cannot reach the hub
    bool gone = false;       // it never comes again
    uint32_t processes = 0;  // of its node, so far
    uint32_t calls = 0;      // how often it began to call the hub
    std::string pilot;       // whose node it is; empty: nobody's
  };

  void Live();
  void LookForTheDead();
  std::string WhyStill() const;
  void CheckInvariants();
  void TellHubHolds();
  void KeepTelling();
  // All is done: what is broken is whole again, and nothing breaks any more.
  void MakePeace();
  void Tick();
  // Nothing runs anywhere, and everybody is there.
  bool AllQuiet();
  bool AllThere() const;
  // No pilots but those that are to be there, and no trace of the others.
  bool PoolsAtRest();

  void StartHub();
  void EndHub(bool clean);
  void StopHub();
  void PlanHubTroubles();
  void Sleep(Duration time);

  void Know(store::NodeRow row);
  void AddMachine(Offer offer, Duration wait);
  void StartNode(size_t index);
  void KillNode(size_t index);
  void PlanCrashWhileFrozen(size_t index);
  void EndNode(size_t index, bool all);
  void LeaveHub(size_t index);
  void AdoptOtherName(size_t index);
  void PlanNodeTroubles(size_t index);
  void Call(size_t index);
  // A pilot's node ends by itself.
  void ExitPilot(size_t index);
  static hub::Guest GuestOf(const NodeHost& place);
  bool MayConnect(const NodeHost& place) const;
  void Connect(size_t index);
  // The link is no more; each side that lives notices later.
  void Break(size_t index);
  void LoseLink(size_t index);
  // Its connection stays, and nothing comes of it any more, or arrives there, until its link is
  // given up, and for a while after that.
  void FallSilent(size_t index);
  // The node, and perhaps others with it, cannot reach the hub for a while.
  void Part(size_t index);
  // Another node tells how the attempt ended, or that it was not started.
  void LieAbout(const AttemptRef& ref, NodeId holder);
  wire::ToHub MakeLie(const AttemptRef& ref);
  // The hub is about to hear it; false: it does not.
  bool Admit(size_t index, const wire::ToHub& said);
  // The same of an answer to what the hub has asked the node.
  bool AdmitAnswer(size_t index, const wire::AnswerPiece& answer);
  std::optional<wire::AnswerPiece> NameOthers(const wire::AnswerPiece& answer);
  // A lie about what a node tells, in the same turn of the hub.
  void LieBefore(size_t index, const wire::ToHub& truth);
  void Unheard(NodeHost& place);
  void DropHubEnd(NodeHost& place);

  void After(Duration wait, std::function<void()> fn);
  void Observe(const Fact& fact);
  void Count(const Fact& fact);
  Duration Random(Duration most);
  // How long somebody is away: shorter than a commit, or longer than anybody's patience.
  Duration Gap();

  const Options options_;
  const Sabotage sabotage_;
  const Workload workload_;
  Prng prng_;
  Prng lies_;
  const bool clients_break_;  // now and then
  os::FakeLoop loop_;
  Witness witness_;
  WorldReport& report_;
  const std::shared_ptr<SimDisk> disk_;
  HubPeople people_;
  std::unique_ptr<SimBatch> batch_;  // null: there are no pools
  std::vector<NodeHost> places_;
  std::map<std::string, size_t> pilots_;  // of these, by name
  std::unique_ptr<HubProcess> hub_;

  uint64_t log_lines_ = 0;  // of the hub's earlier lives

  Duration clock_ahead_, wall_ahead_;  // the hub's clocks, of the world's
  Instant began_;
  bool peace_ = false;
  Instant uneasy_at_;  // somebody was missing then, or wanted something
  Instant pools_due_;  // then they must be at rest
  uint32_t crashes_left_;
  uint32_t store_failures_left_;
  uint32_t node_crashes_left_;
  uint32_t cuts_left_ = 60;
  uint32_t silences_left_ = 4;
  uint32_t stops_left_;
};

}  // namespace spate::sim
