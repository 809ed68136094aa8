// Lobby: where a node is reached by members of gangs on other nodes. Who comes says which part is
// meant, by its id; the connection as it is goes to that part's server, which asks for a proof. So
// the lobby knows no secret and no gang, and what it has handed over does not end with it.
//
// An id is no secret: it travels in clear, and each user of the machine sees it as the name of the
// server's inbox (/proc/net/unix). Who knows it gets as far as the server's question for a proof.
//
// A knock, the first bytes of a connection: kKnock, then the 32 bytes of PartKeys::id. The lobby
// answers nothing: it closes when nobody has that id.
//
// Thread: the loop's.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes32.h"
#include "base/result.h"
#include "base/time.h"
#include "os/address.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "transport/tcp/listener.h"

namespace spate::remote {

inline constexpr std::string_view kKnock = "spate remote 1\r\n";
inline constexpr size_t kKnockBytes = 16 + 32;
static_assert(kKnock.size() == 16);
std::string KnockAt(const Bytes32& id);

struct LobbyLimits {
  // At once. For one more the oldest that has not knocked yet goes, else the oldest of all.
  size_t strangers = 256;
  Duration patience = Duration::Seconds(10);  // from the connection until it is handed over
};

class Lobby {
 public:
  using Trouble = std::function<void(const Error&)>;
  // A connection that begins with other bytes than a knock, all of them unread.
  using Other = std::function<void(transport::Arrival)>;
  // `other` may be null: these are closed.
  static Result<std::unique_ptr<Lobby>> Open(os::RealLoop& loop, const os::SocketAddress& at,
                                             Trouble trouble, const LobbyLimits& limits = {},
                                             Other other = nullptr);
  ~Lobby();
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  // With the port that was taken for port 0.
  const os::SocketAddress& address() const { return address_; }

 private:
  struct Stranger {
    transport::Arrival from;
    std::array<char, kKnockBytes> knock{};
    size_t heard = 0;
    os::TimerId deadline = 0;
    os::TimerId again = 0;
  };
  using Strangers = std::list<Stranger>;

  Lobby(os::RealLoop& loop, os::Fd fd, os::SocketAddress address, Trouble trouble,
        const LobbyLimits& limits, Other other);
  void Arrived(transport::Arrival arrival);
  void MakeRoom();
  void ReadKnock(Strangers::iterator at);
  bool IsOther(Strangers::iterator at);
  void Show(Strangers::iterator at);
  void Remove(Strangers::iterator at);

  os::RealLoop& loop_;
  const os::SocketAddress address_;
  const LobbyLimits limits_;
  const Other other_;
  Strangers strangers_;
  std::unique_ptr<transport::Listener> listener_;
};

}  // namespace spate::remote
