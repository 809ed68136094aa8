// Cost of a connection while nothing is sent. Prints its figures; they are in
// docs/design/007-transport.md.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <deque>

#include "os/process.h"
#include "transport/tcp/testing_peer.h"

namespace spate::transport {
namespace {

constexpr size_t kPairs = 1000;
constexpr size_t kBytesOfAnEndMax = 30 * 1024;

// In use on the heap; 0 where another allocator has taken its place (sanitizers).
size_t HeapBytes() {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class IdleTest : public TlsTest {};

TEST_F(IdleTest, AThousandConnections) {
  os::OpenFileLimit limit = os::GetOpenFileLimit();
  if (limit.most < 2 * kPairs + 100) GTEST_SKIP() << "may open only " << limit.most << " files";
  ASSERT_TRUE(os::SetOpenFileLimit(limit.most));
  {
    Peer hub, client;  // what is there once, whatever the number
    Open(hub, client);
  }
  struct Pair {
    Peer hub, client;
  };
  std::deque<Pair> pairs(kPairs);
  size_t heap_before = HeapBytes();
  size_t resident_before = os::InfoOf(os::OwnPid()).value().resident;
  Instant start = loop_->Now();
  StreamLimits limits{.handshake = Duration::Seconds(60)};
  for (Pair& pair : pairs) Connect(pair.hub, pair.client, limits);
  auto opened = [&] {
    return std::ranges::all_of(pairs, [](Pair& p) { return p.hub.opened && p.client.opened; });
  };
  RunUntil(opened);
  Duration took = loop_->Now() - start;
  // A frame of 100 KB each way and back, so that every buffer has been there.
  std::string frame(100 * 1000, 'x');
  for (Pair& pair : pairs) {
    pair.hub.stream->Send(frame);
    pair.client.stream->Send(frame);
    RunUntil([&] {
      return pair.hub.got.size() == frame.size() && pair.client.got.size() == frame.size();
    });
    std::string().swap(pair.hub.got);
    std::string().swap(pair.client.got);
  }
  ASSERT_TRUE(opened());
  auto of_an_end = [](size_t now, size_t then) { return (now - std::min(now, then)) / kPairs / 2; };
  auto resident = [] { return os::InfoOf(os::OwnPid()).value().resident; };
  size_t end_bytes = of_an_end(HeapBytes(), heap_before);
  size_t at_first = of_an_end(resident(), resident_before);
  malloc_trim(0);
  fmt::print(
      "{} idle pairs: an end has {} bytes on the heap; resident are {}, and {} without what "
      "the heap keeps of the handshakes, all at once; {} us for a handshake, both its ends\n",
      kPairs, end_bytes, at_first, of_an_end(resident(), resident_before),
      took.micros() / static_cast<int64_t>(kPairs));
  EXPECT_LE(end_bytes, kBytesOfAnEndMax);
}

}  // namespace
}  // namespace spate::transport
