// The program spate-pmix, which a node's first process of a gang starts (remote/pmix_meeting.h).
#include <cstdio>
#include <string_view>

#include "os/socket.h"
#include "remote/pmix/server/pmix_server.h"

// Replaces the C library's accept: libpmix reads the first bytes of one connection after another,
// so connections of other local users must not reach it.
extern "C" int accept(int fd, void* address, void* size) {
  return spate::os::AcceptOwn(fd, address, size);
}

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::puts("spate-pmix " SPATE_VERSION);
    return 0;
  }
  if (argc > 1) {
    std::fputs("spate-pmix: nodes start it for programs of Open MPI; it has no options\n", stderr);
    return 2;
  }
  return spate::remote::ServePmix();
}
