// For tests: a shepherd of another release, which a node's next process meets.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "shepherd/protocol.h"
#include "shepherd/rendezvous.h"

namespace spate::node {

// A process that listens in the node's folder as a shepherd does.
struct OtherShepherd {
  // `adopted`: the frame with which it greets the next process.
  OtherShepherd(const std::string& node_folder, std::string adopted)
      : folder(node_folder), greeting(std::move(adopted)) {
    int in[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) Be(in[1]);
    close(in[1]);
    char byte = 0;
    EXPECT_EQ(read(in[0], &byte, 1), 1);
    close(in[0]);
  }
  static std::string Frame(std::string content) {
    auto length = static_cast<uint32_t>(content.size());
    return std::string(reinterpret_cast<const char*>(&length), 4) + content;
  }
  // Frame of a version that is too old.
  static std::string AdoptedOf0() { return Frame(std::string{70, 0} + std::string(5, '\0')); }
  // Task 3 of job 1 runs in slot 2 of a shepherd of `version`.
  static std::string AdoptedOf(uint8_t version, uint32_t adopters) {
    shepherd::Adopted adopted;
    adopted.adopters = adopters;
    adopted.running.emplace();
    adopted.running->start.ref = {JobId(1), 3, Attempt(2)};
    adopted.running->start.slot = 2;
    std::string frame;
    shepherd::Append(frame, adopted);
    frame[5] = static_cast<char>(version);  // behind length and type
    return frame;
  }
  // The child: it listens as one does, runs a task, and says Adopted to who comes.
  [[noreturn]] void Be(int ready) const {
    setpgid(0, 0);
    auto rendezvous = shepherd::Rendezvous::Open(folder);
    if (!rendezvous) _exit(1);
    (void)!write(ready, "x", 1);
    pollfd wanted{rendezvous->fd(), POLLIN, 0};
    poll(&wanted, 1, -1);
    os::Fd parent = rendezvous->Accept();
    (void)!write(parent.get(), greeting.data(), greeting.size());
    pause();
    _exit(0);
  }
  const std::string folder;
  const std::string greeting;
  pid_t pid = 0;
};

}  // namespace spate::node
