// A node over many jobs, with real shepherds and a hub that only gives: what it keeps of a job goes
// with the job. SPATE_NODE_LIFE_JOBS=20000 runs as many, and tells what they cost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <deque>

#include "node/node.h"
#include "node/testing_executor.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

constexpr uint32_t kJobs = 600;
constexpr size_t kVariables = 64;  // of 64 bytes
constexpr uint32_t kAtOnce = 4;    // jobs that are open and not ended

// Resident memory without pages of files: what a process has of its own.
uint64_t OwnMemory(pid_t pid) {
  auto text = os::ReadFile(fmt::format("/proc/{}/status", pid), 1 << 16).value_or("");
  size_t at = text.find("RssAnon:");
  return at == text.npos ? 0 : std::strtoull(text.c_str() + at + 8, nullptr, 10) * 1024;
}

// Milliseconds of processor time of this process.
double OwnTime() { return static_cast<double>(std::clock()) * 1000 / CLOCKS_PER_SEC; }

class NodeLifeTest : public testing::Test, public transport::Channel<wire::ToHub, wire::ToNode> {
 protected:
  NodeLifeTest() : loop_(std::move(*os::RealLoop::Create())) {
    for (size_t i = 0; i < kVariables; ++i) {
      settings_.environment.push_back(fmt::format("VARIABLE_{:02}={:051}", i, i));
    }
    settings_.cwd = "/";
    settings_.row_kind = RowKind::kValues;
    settings_.command = {"/bin/true"};
    settings_.record_values = 1;
    ProcessExecutorOptions options;
    options.slots = 2;
    options.node_folder = dir_.path();
    executor_ = std::move(*ProcessExecutor::Create(*loop_, options));
    node_.emplace(NodeId(1), Offer{.node_name = "n", .slots = 2, .milli_cpus = 2000},
                  Node::Parts{.loop = *loop_, .executor = *executor_, .sample_load = [] {
                                return MachineLoad{};
                              }});
    executor_->SetEvents(*node_);
    auto adopted = executor_->Adopt();
    EXPECT_TRUE(adopted.has_value());
    node_->Adopt({});
    node_->Connect(*this);
  }
  ~NodeLifeTest() override { node_.reset(); }

  // transport::Channel: the hub's end.
  void Send(wire::ToHub message) override {
    const auto* ends = std::get_if<wire::Ends>(&message);
    if (ends == nullptr) return;
    for (const AttemptEnd& end : ends->ends) {
      EXPECT_EQ(end.cause, Cause::kSuccess) << end.note;
      ended_.push_back(end.ref.job);
    }
    taken_ = ends->number;
    loop_->Post([this] { GoOn(); });
  }
  void OnMessage(std::function<void(wire::ToNode)> receiver) override {
    tell_ = std::move(receiver);
  }

  void GoOn() {
    if (taken_ > 0) tell_(wire::ReportsTaken{std::exchange(taken_, 0)});
    for (; !ended_.empty(); ended_.pop_front()) {
      if (closes_) tell_(wire::CloseJob{ended_.front()});
      --open_;
    }
    for (; open_ < kAtOnce && next_ <= last_; ++open_, ++next_) {
      tell_(wire::OpenJob{JobId(next_), std::make_shared<const JobSettings>(settings_)});
      tell_(wire::Lease{Epoch(1), JobId(next_), Attempt(1), Needs{}, {{0, 1}}, {"x"}});
    }
    if (open_ == 0) loop_->Post([this] { loop_->Stop(); });
  }
  void Run(uint32_t jobs) {
    last_ = next_ + jobs - 1;
    loop_->Post([this] { GoOn(); });
    loop_->Run();
    // Handles the consequences of the last ends.
    loop_->Post([this] { loop_->Stop(); });
    loop_->Run();
  }
  uint64_t MemoryOfShepherds() const {
    uint64_t bytes = 0;
    for (pid_t pid : executor_->ShepherdPids()) bytes += OwnMemory(pid);
    return bytes;
  }

  os::TempDir dir_;
  std::unique_ptr<os::RealLoop> loop_;
  JobSettings settings_;
  std::unique_ptr<ProcessExecutor> executor_;
  std::optional<Node> node_;
  std::function<void(wire::ToNode)> tell_;
  std::deque<JobId> ended_;
  uint64_t taken_ = 0;
  bool closes_ = true;
  uint32_t open_ = 0;
  uint32_t next_ = 1;
  uint32_t last_ = 0;
};

TEST_F(NodeLifeTest, JobsLeaveTheNodeAndItsShepherdsAsTheyWere) {
  const char* wanted = std::getenv("SPATE_NODE_LIFE_JOBS");
  uint32_t jobs = wanted == nullptr ? kJobs : static_cast<uint32_t>(std::atoi(wanted));
  Run(100);
  uint64_t node = OwnMemory(getpid());
  uint64_t shepherds = MemoryOfShepherds();
  constexpr uint32_t kParts = 4;
  for (uint32_t part = 0; part < kParts; ++part) {
    double begin = OwnTime();
    Run(jobs / kParts);
    if (wanted == nullptr) continue;
    fmt::print("{} jobs: node {:.1f} MB, shepherds {:.1f} MB, {:.3f} ms of CPU a job\n", next_ - 1,
               static_cast<double>(OwnMemory(getpid())) / 1e6,
               static_cast<double>(MemoryOfShepherds()) / 1e6,
               (OwnTime() - begin) / (jobs / kParts));
  }
  EXPECT_LT(OwnMemory(getpid()), node + (1u << 20));
  EXPECT_LT(MemoryOfShepherds(), shepherds + (1u << 20));
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
