// accept(2) for a listener on this machine's own address whose peers are processes of one user.
#pragma once

namespace spate::os {

// Like accept(2), with a sockaddr and a socklen_t. A peer on this machine that is neither root's
// nor this process' user's is closed unread, and the call fails with ECONNABORTED.
int AcceptOwn(int fd, void* address, void* size);

}  // namespace spate::os
