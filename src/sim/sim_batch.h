// SimBatch: a simulated batch system, seen through the commands of Slurm as its driver calls them
// (pool/slurm). It takes pilots, lets them wait, runs them on machines, and ends them.
//
// Faults: a command is answered late or never, carried out or not, also after its caller's death; a
// submit is refused, or over a limit; answers are cut off, garbage, or errors; a pilot that is
// there is left out of lists, now and then for long; one that has ended is forgotten at once; a
// pilot is killed early, requeued under its id, dies before its node comes, or its node never
// comes; a cancel takes effect late. What it never does: to say that a pilot has ended that is
// there, to give an id twice, or to carry out a submit more than two minutes after it was made. A
// pilot is left out for no longer than 15 s in a row, unless a fact says so (PilotForgotten).
//
// All of it is bounded, and ends when there is peace.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/prng.h"
#include "hub/pools/commands.h"
#include "os/loop.h"
#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/options.h"
#include "sim/sabotage.h"
#include "sim/witness.h"

namespace spate::sim {

class SimBatch {
 public:
  // Machines on which pilots run: each under the name that its node has.
  class Machines {
   public:
    virtual ~Machines() = default;
    // Its machine is taken away at `end`.
    virtual void StartPilot(const std::string& name, Instant end) = 0;
    virtual void EndPilot(const std::string& name) = 0;
  };
  struct Parts {
    os::Loop& loop;
    const Options& options;
    FactSink sink;
    Machines& machines;
    WorldReport& report;
    uint64_t seed = 1;
    Sabotage sabotage = Sabotage::kNone;
  };
  explicit SimBatch(Parts parts);
  ~SimBatch() { *alive_ = false; }
  SimBatch(const SimBatch&) = delete;
  SimBatch& operator=(const SimBatch&) = delete;

  // `answer` comes once, by the world's loop, not after `patience`.
  using Answer = std::function<void(pool::Outcome)>;
  void Run(const pool::CommandLine& call, Duration patience, Answer answer);
  // The node of this name has ended by itself.
  void Exited(const std::string& name);
  // No more troubles.
  void MakePeace();
  // Pilots of a pool: queued or running.
  uint32_t Alive(const std::string& pool) const;
  bool IsAlive(const std::string& name) const;

 private:
  struct Job {
    std::string tag;
    std::string pool;
    std::string node;  // its name
    Duration limit;
    std::string state = "PENDING";
    bool over = false;
    bool deaf = false;  // it stays, whatever happens
    Instant known_until = Instant::Never();
    uint32_t runs = 0;
    Instant missed_first;  // in the newest time that it was left out
    Instant missed_last;
    bool forgotten = false;
  };

  pool::Outcome Do(const pool::CommandLine& call);
  pool::Outcome Submit(const pool::CommandLine& call);
  pool::Outcome List();
  pool::Outcome Cancel(const pool::CommandLine& call);
  uint32_t Enqueue(const pool::CommandLine& call, const std::string& tag, const std::string& node);
  void Wait(uint32_t id);
  void Start(uint32_t id);
  void Requeue(uint32_t id);
  void End(uint32_t id, const char* state);
  bool MayMiss(const Job& job) const;
  void Miss(Job& job);

  // A trouble, as long as any are left.
  bool Trouble(unsigned percent);
  void After(Duration wait, std::function<void()> fn);
  Duration Random(Duration most);

  Parts parts_;
  Prng prng_;
  std::map<uint32_t, Job> jobs_;
  std::map<std::string, uint32_t> failed_;  // by tag, the number of the host
  uint32_t last_id_ = 1000;
  uint32_t troubles_left_ = 150;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The commands of one life of a hub.
class SimCommands final : public hub::Commands {
 public:
  // All outlive it.
  SimCommands(SimBatch& batch, os::Loop& loop, Faults& faults)
      : batch_(batch), loop_(loop), faults_(faults) {}
  ~SimCommands() override { *alive_ = false; }

  void Run(pool::CommandLine call, const std::string& user, Duration patience, Done done) override;
  void FindHome(const std::string& user, Found done) override {
    loop_.Post([alive = alive_, home = "/home/" + user, done = std::move(done)] {
      if (*alive) done(home);
    });
  }

 private:
  SimBatch& batch_;
  os::Loop& loop_;
  Faults& faults_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::sim
