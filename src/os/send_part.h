// Sending bytes of which more follow at once.
#pragma once

#include <string_view>

#include "os/socket.h"

namespace spate::os {

// As SendSome. The system may keep the bytes back until those that follow fill a packet, for a
// fraction of a second at most.
IoStep SendPart(int fd, std::string_view bytes);

}  // namespace spate::os
