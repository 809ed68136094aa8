// A process of an MPI job. The only folder that knows MPI's own header; it is compiled once for
// each MPI library.
//
// A stream is a socket: its other end is emptied into MPI messages and filled from them, so that
// everything that speaks through descriptors speaks through MPI. MPI tells nobody when something
// has come, and its blocking calls burn a processor. So a sender on the same machine rings a bell
// (os/doorbell.h); of others we look for messages: after some has come at once again, then less and
// less often, up to every kIdleNap. Where the bell does not work, that serves for all.
//
// Thread: the one that called Start. Errors of MPI end the whole job, as MPI has it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/doorbell.h"
#include "transport/parallel_job.h"

namespace spate::transport {

class MpiJob final : public ParallelJob {
 public:
  // Once in a process.
  static std::unique_ptr<ParallelJob> Start(int* argc, char*** argv);
  ~MpiJob() override;
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  std::vector<std::string> Gather(const std::string& own) override;
  int Broadcast(int word) override;
  Result<os::Fd> Open(os::RealLoop& loop, int rank) override;
  void Drain() override;
  Traffic traffic() const override { return traffic_; }

 private:
  struct Message;
  struct Stream;
  MpiJob() = default;
  void WaitFor(void* request) const;
  void RingAll() const;
  void Poll();
  void LookIn(Duration nap);
  void ShareBells();
  bool ReceiveOne();
  bool ReceiveFrom(int rank);
  bool FreeSent(Stream& stream);
  void ReadFrom(Stream& stream);
  void Send(Stream& stream, Message message);
  void WriteTo(Stream& stream);
  void CloseFor(Stream& stream);
  void Watch(Stream& stream);

  os::RealLoop* loop_ = nullptr;
  std::vector<std::unique_ptr<Stream>> streams_;  // by rank; null: none
  std::optional<os::Doorbell> bell_;
  std::vector<std::string> bells_;  // of others, by rank; empty: on another machine
  bool all_ring_ = false;           // of those with a stream
  std::string buffer_;
  os::TimerId timer_ = 0;
  Duration nap_;
  int owed_ = 0;  // messages that were rung for and have not come; negative: came before their ring
  Traffic traffic_;
};

}  // namespace spate::transport
