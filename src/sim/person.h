// Person: who uses the hub, and the program between (`spate run`): submits lists, watches, presses
// Ctrl-C, comes back with --resume and another list, and has failed tasks done again.
//
// A person lives in the process that dies; what survives is Memory, the list of commands (Workload)
// and the journal.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/prng.h"
#include "hub/hub.h"
#include "os/loop.h"
#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/options.h"
#include "sim/sabotage.h"
#include "sim/workload.h"
#include "store/store.h"

namespace spate::sim {

class Person final : public hub::Watcher {
 public:
  // How much mischief is left; bounded, so that every world gets done.
  struct Memory {
    uint32_t exits = 4;  // by Ctrl-C, or after a job was stopped by a rule
    uint32_t holds = 6;
    uint32_t halts = 5;    // after so many the rules are lifted
    uint32_t changes = 4;  // of lists
    uint32_t redos = 2;
  };
  struct Parts {
    os::Loop& loop;
    Faults& faults;
    store::Store& store;
    const Workload& workload;
    const Options& options;
    FactSink sink;
    Memory& memory;
    std::function<void(bool)> block_output;
    uint64_t seed = 1;
    Sabotage sabotage = Sabotage::kNone;
  };
  enum class Wish : uint8_t { kGoOn, kExit, kDone };

  explicit Person(Parts parts);
  ~Person() override { *alive_ = false; }

  // The hub has read its journal and resumed.
  void SitDown(hub::Hub& hub);
  // After each turn of the loop.
  Wish Check();
  bool store_failed() const { return store_failed_; }

  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld& notice) override;
  void OnFinished(const engine::NoticeFinished& notice) override;
  void OnNews(const wire::ToHub& news) override;
  void OnStoreFailed(const Error& error) override;

 private:
  void Note(const std::string& text) { parts_.sink(Remark{text}); }
  void After(Duration wait, std::function<void()> fn);
  Duration Wait(Duration most);  // a random time
  const SimJob& AnyJob();

  void Submit(const SimJob& job);
  void Resume(const SimJob& job);
  void PlanMischief();
  void GrowOpen(const SimJob& job);
  void Grow(const SimJob& job, uint32_t count);
  void AppendRows(const SimJob& job, TaskIndex first, uint32_t count);
  void WithdrawSome(const SimJob& job);
  void LiftRules(const SimJob& job);
  void Release(const SimJob& job);
  void Exit(bool twice);
  void HoldAll(bool end_running);
  bool RedoSome();

  Parts parts_;
  Prng prng_;
  hub::Hub* hub_ = nullptr;
  Duration span_;                        // about how long the work takes
  std::map<JobId, uint32_t> submitted_;  // and the number of its tasks
  bool exiting_ = false;
  bool store_failed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::sim
