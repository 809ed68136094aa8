// Sending as TLS needs it: bytes of which more follow at once, and small ones for which there must
// be room.
#pragma once

#include <string_view>

#include "os/socket.h"

namespace spate::os {

// Like SendSome. The system may keep the bytes back until those that follow fill a packet, for a
// fraction of a second at most.
IoStep SendPart(int fd, std::string_view bytes);
// True if the socket has room now for some hundred bytes at least, all of which one Send takes.
bool HasRoom(int fd);

}  // namespace spate::os
