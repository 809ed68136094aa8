// Any bytes as what a node sends after it was let in, over a real socket: the hub's end of the
// channel ends it in one of three ways, and keeps no file that nobody owns.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "link/channels.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/socket.h"
#include "os/temp_dir.h"

namespace {

namespace link = spate::link;
namespace os = spate::os;
namespace wire = spate::wire;

// What the socket holds without anybody who reads.
constexpr size_t kBytesMost = 64 * 1024;

struct Hub {
  std::unique_ptr<os::RealLoop> loop = std::move(os::RealLoop::Create().value());
  os::TempDir dir;
};

void CheckOutputs(const wire::ToHub& message) {
  const auto* ends = std::get_if<wire::Ends>(&message);
  if (ends == nullptr) return;
  for (const spate::TaskOutputPtr& output : ends->outputs) {
    if (!output) continue;
    for (const spate::OutputStream* stream : {&output->out, &output->err}) {
      if (stream->spool.empty()) {
        CHECK(stream->bytes.size() == stream->total);
      } else {
        CHECK(os::Stat(stream->spool).value().size == stream->total);
      }
    }
  }
}

link::Ended Serve(Hub& hub, std::string_view bytes) {
  os::SocketPair pair = std::move(os::MakeSocketPair().value());
  CHECK(os::SetNonBlocking(pair.a.get(), true).has_value());
  CHECK(os::SendSome(pair.b.get(), bytes).bytes == bytes.size());
  os::ShutdownWrite(pair.b.get());
  std::optional<link::Ended> ended;
  auto connection =
      std::make_unique<link::Connection>(*hub.loop, std::move(pair.a), nullptr, link::FrameTypes{});
  connection->Start({});
  connection->Accept(link::TypesToHub(wire::Role::kNode));
  link::NodeChannelTcp channel(std::move(connection), hub.dir.Path("s"),
                               {.closed =
                                    [&](const link::Ended& why) {
                                      ended = why;
                                      hub.loop->Stop();
                                    },
                                .silent = nullptr});
  std::vector<wire::ToHub> messages;
  channel.OnMessage([&](wire::ToHub message) {
    CheckOutputs(message);
    messages.push_back(std::move(message));
  });
  hub.loop->Run();
  return *ended;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Hub hub;
  std::string_view bytes(reinterpret_cast<const char*>(data), std::min(size, kBytesMost));
  using Why = link::Ended::Why;
  Why why = Serve(hub, bytes).why;
  CHECK(why == Why::kBreach || why == Why::kByPeer || why == Why::kRefused);
  CHECK(os::ListDir(hub.dir.path()).value().empty());
  return 0;
}
