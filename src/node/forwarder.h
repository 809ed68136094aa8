// Forwarder: between a node and its executor, collects what tasks forward (TaskBody::forwards), and
// sends it home with their ends: as TaskOutput::files, docs/formats/files.md. It comes whole, and
// of successful tasks alone.
//
// The descriptor that a task writes to is a named pipe in our folder: it can be opened anew by
// /proc/self/fd/N, and whoever keeps it open ends with the task. What comes is kept in memory up to
// kForwardMemory, beyond that in a file.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "node/executor.h"
#include "os/fd.h"
#include "os/real_loop.h"

namespace spate::node {

inline constexpr size_t kForwardMemory = 1u << 20;  // of one descriptor

class Forwarder final : public Executor, public ExecutorEvents {
 public:
  // `folder` is there, ours alone, and outlives this. A forwarded file has `file_bytes` at most; 0:
  // any number.
  Forwarder(os::RealLoop& loop, Executor& under, std::string folder, uint64_t file_bytes);
  ~Forwarder() override;
  void SetEvents(ExecutorEvents& events) { events_ = &events; }

  void OpenJob(JobId job, std::shared_ptr<const JobSettings> settings, bool inherits) override;
  void CloseJob(JobId job) override;
  void Start(StartOrder order) override;
  void TakeBack(const AttemptRef& ref) override { under_.TakeBack(ref); }
  void End(const AttemptRef& ref, EndHow how, Cause cause) override { under_.End(ref, how, cause); }
  void Pause(bool paused) override { under_.Pause(paused); }
  void Freeze(const AttemptRef& ref, bool frozen) override { under_.Freeze(ref, frozen); }
  void Taken(const AttemptRef& ref) override { under_.Taken(ref); }

  void OnStarted(const AttemptRef& ref, Instant when) override { events_->OnStarted(ref, when); }
  void OnEnded(AttemptEnd end, TaskOutputPtr output) override;
  void OnTakenBack(const AttemptRef& ref) override;
  void OnOutput(const AttemptRef& ref, int stream, std::string_view bytes) override {
    events_->OnOutput(ref, stream, bytes);
  }
  void OnMemory(const AttemptRef& ref, uint64_t bytes) override { events_->OnMemory(ref, bytes); }

 private:
  struct Source;
  using Sources = std::vector<std::unique_ptr<Source>>;
  Status OpenPipe(Source& source, const std::string& path);
  void Read(Source& source);
  void Drop(Sources& sources);
  // What has come of all of them; an error says which cannot be forwarded.
  Result<OutputStream> Gather(Sources& sources, const AttemptRef& ref);
  Status TakeFile(Source& source) const;

  os::RealLoop& loop_;
  Executor& under_;
  ExecutorEvents* events_ = nullptr;
  const std::string folder_;
  const uint64_t file_bytes_;
  std::unordered_map<JobId, std::string> folders_;  // of jobs
  std::unordered_map<AttemptRef, Sources, AttemptRefHash> sources_;
};

// Takes a TaskOutput::files of forwards apart: what has come of each, in their order. kCorrupt: it
// is none of so many.
Result<std::vector<std::string>> ReadForwards(const OutputStream& stream, size_t count);

}  // namespace spate::node
