// Remains of an earlier process of this node (shepherd/rendezvous.h): shepherds whose
// attempts run on, and ends that the hub may not have.
//
// Every shepherd is reached at its own socket, so that a reused pid does no harm. It reports
// all that a node must know of its attempt. An end stays where it was kept, in the shepherd or in a
// file, until Taken states that the hub has it: whatever is killed in between, the end is reported
// again, and always the same.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/executor.h"
#include "os/real_loop.h"
#include "shepherd/protocol.h"
#include "shepherd/rendezvous.h"

namespace spate::node {

class AdoptedShepherds {
 public:
  struct Parts {
    os::RealLoop& loop;
    std::string node_folder;
    // Makes the owner of the output of an end.
    std::function<TaskOutputPtr(TaskOutput)> own;
    // Ends what ran below a shepherd that was killed.
    std::function<void()> end_strays;
    // Removes what is left of the folder of an attempt that has ended.
    std::function<void(const AttemptRef&)> remove_folder;
    std::function<void(wire::AnswerPiece)> answered;  // answers to Query
    std::function<void(const AttemptRef&)> lost;      // nothing more comes of the attempt
  };
  explicit AdoptedShepherds(Parts parts) : parts_(std::move(parts)) {}
  ~AdoptedShepherds();
  AdoptedShepherds(const AdoptedShepherds&) = delete;
  AdoptedShepherds& operator=(const AdoptedShepherds&) = delete;

  // Meets all of them; waits up to `patience` for those that do not answer, and ends these. Later
  // news of what runs comes to `events`.
  Result<Adopted> Begin(ExecutorEvents& events, Duration patience);

  // Each false when the attempt is none of these. A shepherd that does not obey an order to kill is
  // ended itself.
  bool End(const AttemptRef& ref, EndHow how, Cause cause);
  bool Freeze(const AttemptRef& ref, bool frozen, Instant stop);
  // kOlder: its shepherd is of a release that cannot be asked.
  enum class Asked : uint8_t { kNotHere, kOlder, kAsked };
  Asked Query(const wire::Ask& ask);
  bool Taken(const AttemptRef& ref);
  void Pause(bool paused);
  // Ends what runs. Ends that were not taken are left for another time.
  void EndAll();
  std::vector<pid_t> Pids() const;
  // The shepherd that runs it; 0: none of these.
  pid_t PidOf(const AttemptRef& ref) const;
  std::vector<AttemptRoot> Roots() const;

 private:
  struct Shepherd {
    shepherd::ShepherdName name;
    os::Fd socket;
    shepherd::FrameBuffer reports;
    std::string out;
    bool watches_write = false;
    std::optional<AttemptRef> running;
    uint16_t slot = 0;
    bool is_part = false;       // of a gang
    bool answers = false;       // shepherd::Adopted
    std::optional<Cause> hung;  // it was ended for that; why its attempt was to end
    std::set<AttemptRef> untaken;
  };
  struct File {
    std::string path;
    std::set<AttemptRef> untaken;
  };
  bool Meet(Shepherd& one, int64_t until, Adopted& adopted);
  void ReadEnds(const shepherd::ShepherdName& name, Adopted& adopted);
  AdoptedEnd ToEnd(shepherd::Ended ended);
  bool Receive(Shepherd& one);
  void OnReadable(Shepherd& one);
  void OnReport(Shepherd& one, shepherd::Report report);
  void OnGone(Shepherd& one);
  void EndLater(const AttemptRef& ref, Cause cause);
  void Flush(Shepherd& one);

  Parts parts_;
  ExecutorEvents* events_ = nullptr;
  std::list<Shepherd> shepherds_;
  std::list<File> files_;
  // Functions that the loop calls look here whether this still exists.
  std::shared_ptr<bool> exists_ = std::make_shared<bool>(true);
};

}  // namespace spate::node
