// Many clients and nodes in one process whom a hub trusts, and who send it anything (maker.h).
//
//   spate-insider SOCKET COUNT [SEED] [PEERS]
//
// Of the PEERS half are nodes. Each sends some messages at once and then one
// whose answer says that the hub is through; when the hub ends the connection it makes another. A
// message counts when the hub has said so, or has ended the connection at the one that had to end
// it. Every 10 s, and at the end, a line says how it goes. Exit code 1: the hub is gone, or has
// said nothing for a minute.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/product.h"
#include "base/units.h"
#include "link/connection.h"
#include "link/connector.h"
#include "maker.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "wire/client_codec.h"
#include "wire/codec.h"

namespace {

using spate::Duration;
using spate::Instant;
using spate::insider::Fate;
using spate::insider::Maker;
using spate::wire::FrameType;
namespace link = spate::link;
namespace wire = spate::wire;

constexpr Duration kPatience = Duration::Seconds(60);
constexpr Duration kEvery = Duration::Seconds(10);
constexpr size_t kBatch = 64;
// No job has this number: questions about it are the last of a batch.
constexpr spate::JobId kNoJob{4'000'000'000};

struct Crew {
  spate::os::RealLoop& loop;
  link::Target target;
  Maker maker;
  uint64_t count = 0;    // wanted
  uint64_t taken = 0;    // messages that the hub has had
  uint64_t unknown = 0;  // behind one that ended the connection unexpectedly
  std::map<std::string, uint64_t> ends = {};
  std::string gave_up = {};  // why; empty: it has not

  void Took(uint64_t messages) {
    taken += messages;
    if (taken >= count) loop.Stop();
  }
  void GiveUp(std::string_view why) {
    if (gave_up.empty()) gave_up = why;
    loop.Stop();
  }
};

// Without what differs from one to the next.
std::string Digest(const std::string& text) {
  std::string digest;
  for (char c : text.substr(0, 70)) {
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ' || c == '_';
    if (is_letter || !digest.ends_with('#')) digest += is_letter ? c : '#';
  }
  return digest;
}

class Peer {
 public:
  explicit Peer(Crew& crew) : crew_(crew) { Call(); }
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  bool IsStuck(Instant now) const { return now - since_ > kPatience; }
  // The newest messages, as far as they can be read.
  const std::string& Sent() const { return sent_; }

 protected:
  virtual link::Self Self() = 0;
  virtual void Begin() {}
  virtual std::vector<spate::insider::Message> Batch(size_t count) = 0;
  virtual void AskBack() = 0;
  // Whether it answers AskBack.
  virtual bool Hear(std::string_view bytes) = 0;

  void Send(FrameType type, std::string_view bytes) {
    const bool numbered = type == FrameType::kRequest;
    SendAsItIs(type, numbered ? Numbered(bytes) : std::string(bytes));
  }
  void SendAsItIs(FrameType type, std::string_view bytes) { (void)connection_->Send(type, bytes); }
  Crew& crew_;

 private:
  // With an id: each request has one of its own, and the messages of an upload that of its Submit.
  std::string Numbered(std::string_view request) {
    auto decoded = wire::DecodeRequest(request);
    const bool of_upload = decoded && wire::KindOf(*decoded) == wire::RequestKind::kUpload;
    if (!of_upload) return wire::IdBytes(++last_id_).append(request);
    if (std::holds_alternative<wire::Submit>(*decoded)) upload_ = ++last_id_;
    return wire::IdBytes(upload_).append(request);
  }
  void Call();
  void Met(link::Connector::Met met);
  void SendBatch();
  void Answered();
  void Again(const std::string& why);

  std::unique_ptr<link::Connector> caller_;
  std::unique_ptr<link::Connection> connection_;
  uint32_t last_id_ = 0;
  uint32_t upload_ = 0;  // the id of the newest
  uint64_t pending_ = 0;
  std::string sent_;
  Fate fate_ = Fate::kStays;
  Instant since_;  // it has heard nothing of the hub
};

void Peer::Call() {
  since_ = crew_.loop.Now();
  auto posted = [this] {
    connection_.reset();
    caller_ =
        std::make_unique<link::Connector>(crew_.loop, crew_.target, Self(), [this](auto result) {
          if (result) return Met(std::move(*result));
          // A name may have been removed; without a refusal nobody is there.
          if (!result.error().refusal) return crew_.GiveUp(result.error().error.message);
          Again("not let in: " + result.error().refusal->reason);
        });
  };
  crew_.loop.Post(posted);
}

void Peer::Met(link::Connector::Met met) {
  connection_ = std::move(met.connection);
  connection_->Start({.opened = {},
                      .frame =
                          [this](FrameType, std::string_view bytes) {
                            since_ = crew_.loop.Now();  // an answer may be long
                            if (Hear(bytes)) Answered();
                          },
                      .writable = {},
                      .silent = {},
                      .closed =
                          [this](const link::Ended& ended) {
                            bool expected = fate_ != Fate::kStays;
                            if (expected) crew_.Took(pending_);
                            if (!expected) crew_.unknown += pending_;
                            Again(ended.refusal ? ended.refusal->reason : ended.text);
                          }});
  Begin();
  SendBatch();
}

void Peer::SendBatch() {
  since_ = crew_.loop.Now();
  auto batch = Batch(1 + crew_.maker.Small(kBatch));
  sent_.clear();
  for (const auto& message : batch) {
    Send(message.type, message.bytes);
    sent_ += "\n  " + spate::EscapeForScreen(message.bytes.substr(0, 100));
  }
  pending_ = batch.size();
  fate_ = batch.back().fate;
  if (fate_ == Fate::kStays) AskBack();
  if (fate_ == Fate::kLeft) connection_->Close();
}

void Peer::Answered() {
  crew_.Took(std::exchange(pending_, 0));
  if (crew_.maker.random().Below(100) > 0) return SendBatch();
  Again("left by itself");
}

void Peer::Again(const std::string& why) {
  ++crew_.ends[Digest(why)];
  pending_ = 0;
  Call();
}

class Node final : public Peer {
 public:
  using Peer::Peer;

 private:
  link::Self Self() override {
    return {spate::ProductVersion(), wire::Role::kNode, fmt::format("n{}", crew_.maker.Small(40)),
            std::string(wire::kInstanceBytes, 'i')};
  }
  void Begin() override { Send(FrameType::kToHub, crew_.maker.Hello()); }
  std::vector<spate::insider::Message> Batch(size_t count) override {
    return crew_.maker.OfNode(count);
  }
  void AskBack() override {
    std::string bytes;
    wire::Append(bytes, wire::ToHub{wire::WantPiece{kNoJob, 0}});
    Send(FrameType::kToHub, bytes);
  }
  bool Hear(std::string_view bytes) override {
    auto heard = wire::DecodeToNode(bytes);
    if (!heard) {
      crew_.GiveUp("the hub broke the protocol: " + heard.error().message);
      return false;
    }
    if (const auto* lease = std::get_if<wire::Lease>(&*heard)) {
      for (spate::TaskRange range : lease->tasks) {
        crew_.maker.Leased({lease->job, range.first, lease->attempt});
      }
    }
    const auto* piece = std::get_if<wire::PutPiece>(&*heard);
    return piece != nullptr && piece->job == kNoJob;
  }
};

class Client final : public Peer {
 public:
  using Peer::Peer;

 private:
  // Smaller replies do not fill a window.
  static constexpr size_t kTellTaken = 512;
  void TellTaken(const wire::NumberedMessage& reply) {
    std::string bytes = wire::IdBytes(reply.id);
    wire::Append(bytes,
                 wire::Request{wire::RepliesTaken{static_cast<uint32_t>(reply.message.size())}});
    SendAsItIs(FrameType::kRequest, bytes);
  }
  link::Self Self() override { return {spate::ProductVersion(), wire::Role::kClient}; }
  std::vector<spate::insider::Message> Batch(size_t count) override {
    return crew_.maker.OfClient(count);
  }
  void AskBack() override {
    std::string bytes;
    wire::Append(bytes, wire::Request{wire::Watch{kNoJob}});
    Send(FrameType::kRequest, bytes);
  }
  bool Hear(std::string_view frame) override {
    auto numbered = wire::SplitId(frame);
    if (!numbered) {
      crew_.GiveUp("the hub sent a reply without an id");
      return false;
    }
    std::string_view bytes = numbered->message;
    if (bytes.size() > kTellTaken) TellTaken(*numbered);
    auto heard = wire::DecodeReply(bytes);
    if (!heard) {
      crew_.GiveUp("the hub broke the protocol: " + heard.error().message);
      return false;
    }
    if (const auto* accepted = std::get_if<wire::Accepted>(&*heard)) {
      crew_.maker.Accepted(accepted->job);
    }
    const auto* failed = std::get_if<wire::Failed>(&*heard);
    return failed != nullptr && failed->text == fmt::format("no job {}", kNoJob.value);
  }
};

// Says how it goes, and whether it goes at all.
class Watch {
 public:
  Watch(Crew& crew, const std::vector<std::unique_ptr<Peer>>& peers)
      : crew_(crew), peers_(peers), begun_(crew.loop.Now()) {
    Look();
  }
  void Tell() const {
    double seconds = std::max((crew_.loop.Now() - begun_).seconds(), 1e-3);
    uint64_t connections = 0;
    for (const auto& [why, times] : crew_.ends) connections += times;
    std::printf(
        "%lu messages in %.0f s, %.0f a second; %lu connections ended, %lu behind the end\n",
        crew_.taken, seconds, static_cast<double>(crew_.taken) / seconds, connections,
        crew_.unknown);
    std::fflush(stdout);
  }

 private:
  void Look() {
    crew_.loop.At(crew_.loop.Now() + kEvery, [this] {
      Tell();
      Instant now = crew_.loop.Now();
      for (const auto& peer : peers_) {
        if (!peer->IsStuck(now)) continue;
        return crew_.GiveUp("the hub does not answer, since it had: " + peer->Sent());
      }
      Look();
    });
  }

  Crew& crew_;
  const std::vector<std::unique_ptr<Peer>>& peers_;
  const Instant begun_;
};

void TellEnds(const Crew& crew) {
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (const auto& [why, times] : crew.ends) sorted.emplace_back(times, why);
  std::ranges::sort(sorted, std::greater());
  sorted.resize(std::min<size_t>(sorted.size(), 20));
  for (const auto& [times, why] : sorted) std::printf("%9lu ended: %s\n", times, why.c_str());
}

uint64_t NumberAt(int argc, char** argv, int at, uint64_t otherwise) {
  if (at >= argc) return otherwise;
  std::string_view text = argv[at];
  (void)std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: spate-insider SOCKET COUNT [SEED] [PEERS]\n");
    return 2;
  }
  spate::os::IgnoreSignal(spate::os::kSignalPipe);
  auto loop = spate::os::RealLoop::Create();
  if (!loop) {
    std::fprintf(stderr, "spate-insider: %s\n", loop.error().message.c_str());
    return 1;
  }
  spate::os::Address socket;
  socket.path = argv[1];
  Crew crew{**loop, link::Target::Of(socket), Maker(NumberAt(argc, argv, 3, 1)),
            NumberAt(argc, argv, 2, 0)};
  std::vector<std::unique_ptr<Peer>> peers;
  for (uint64_t i = 0; i < NumberAt(argc, argv, 4, 16); ++i) {
    if (i % 2 == 0) peers.push_back(std::make_unique<Node>(crew));
    if (i % 2 == 1) peers.push_back(std::make_unique<Client>(crew));
  }
  Watch watch(crew, peers);
  (*loop)->Run();
  watch.Tell();
  TellEnds(crew);
  peers.clear();
  if (crew.gave_up.empty()) return 0;
  std::printf("gave up: %s\n", crew.gave_up.c_str());
  return 1;
}
