// Stream sockets that never block: TCP over IPv4 and IPv6, and UNIX sockets. Their names are in
// os/address.h. From any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "os/address.h"
#include "os/fd.h"
#include "os/process.h"

namespace spate::os {

// TCP takes over the port of connections that are still being closed. A UNIX socket is made with
// `permissions`, in the place of one which nobody listens at any more; who stops listening removes
// the file. `waiting` connections may wait for Accept.
Result<Fd> Listen(const SocketAddress& at, int waiting = 1024, uint32_t permissions = 0600);

// True if somebody listens at a UNIX socket on this machine, or this cannot be told. The socket of
// a killed owner refuses connections.
bool HasListener(const SocketAddress& at);

struct Accepted {
  Fd fd;
  SocketAddress peer;
};
// The next one who waits, nullopt when nobody does. kExhausted when there is no memory for it, or
// no descriptor but the last eighth: those who are in need some to be served (for files, processes,
// look-ups), and would wait for one another for ever. It goes on waiting.
Result<std::optional<Accepted>> Accept(int listener);
// accept(2) for a listener on this machine's own address whose peers are processes of one user:
// with a sockaddr and a socklen_t. A peer on this machine that is neither root's nor this process'
// user's is closed unread, and the call fails with ECONNABORTED.
int AcceptOwn(int fd, void* address, void* size);

// Begins. The socket is writable as soon as it is decided; then FinishConnect tells.
Result<Fd> StartConnect(const SocketAddress& to);
Status FinishConnect(int fd, const SocketAddress& to);

// One step of reading or writing. The hot path: no texts are made here.
struct IoStep {
  enum class Kind : uint8_t { kDone, kWouldBlock, kEnd, kError };
  Kind kind = Kind::kDone;
  size_t bytes = 0;  // with kDone
  int error = 0;     // with kError: errno, for TextOfErrno
};
IoStep Receive(int fd, char* to, size_t size);
// The same, and leaves the bytes where they are.
IoStep Peek(int fd, char* to, size_t size);
// A peer that is gone is an error, never a signal.
IoStep SendSome(int fd, std::string_view bytes);
// Lets data on this connection wait for its reader without a limit, instead of a minute at most. A
// dead machine is still detected within a minute while nothing is under way, and otherwise when the
// system has retransmitted often enough (about a quarter of an hour).
void LetReaderWait(int fd);
// Says that nothing more will be sent; receiving goes on.
void ShutdownWrite(int fd);

Result<SocketAddress> LocalAddress(int fd);

struct PeerCredentials {
  uint32_t user = 0, group = 0;
  Pid pid = 0;
};
// The peer that connected a UNIX socket, as the system knows it.
Result<PeerCredentials> PeerOf(int fd);

}  // namespace spate::os
