// A host for tests: a home folder, a shell and a fake ssh that leads to it. Only for tests.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/units.h"
#include "os/temp_dir.h"
#include "pool/driver.h"

namespace spate::pool {

// The shells that this machine has: what a script means is what each of them makes of it.
inline std::vector<std::string> Shells() {
  std::vector<std::string> shells;
  for (const char* path : {"/bin/dash", "/bin/bash"}) {
    if (access(path, X_OK) == 0) shells.emplace_back(path);
  }
  return shells;
}

class TestHost {
 public:
  explicit TestHost(const std::string& shell) {
    for (const char* name : {"bin", "home"}) std::filesystem::create_directory(dir_.Path(name));
    std::filesystem::create_symlink(shell, dir_.Path("bin/sh"));
    // Its last word goes to a shell, as sshd has it. A file "limit" says after how many bytes the
    // connection breaks; with a file "lost" it does so before the answer.
    Program("bin/ssh", "cd " + dir_.path() + R"sh(
echo "$*" >>ssh.log
for last; do :; done
if [ -f limit ]; then
  cat >ssh.in
  if [ "$(wc -c <ssh.in)" -gt "$(cat limit)" ]; then
    head -c "$(cat limit)" ssh.in | sh -c "$last"
    exit 255
  fi
  exec <ssh.in
fi
[ -f lost ] || exec sh -c "$last"
sh -c "$last" >/dev/null
exit 255
)sh");
    hold_ = dir_.Write("hold", "");
  }

  std::string Path(const std::string& name) const { return dir_.Path(name); }
  std::string Write(const std::string& name, const std::string& text) const {
    return dir_.Write(name, text);
  }
  std::string Program(const std::string& name, const std::string& text) const {
    std::string path = dir_.Write(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  // Returns when nobody has the command's stdout and stderr any more. `name` keeps calls at once
  // apart.
  Outcome Run(const CommandLine& call, const std::string& name = "call") const {
    std::string in = dir_.Write(name + ".in", call.input);
    std::string line = "cd " + dir_.path() + " && HOME=" + Path("home") + " PATH=" + Path("bin") +
                       ":\"$PATH\" && export HOME PATH && { {";
    for (const std::string& word : call.argv) line += " " + ShellQuote(word);
    line += " <" + in + " 2>&3; echo $? >" + name + ".code; } | cat >" + name +
            ".out; } 3>&1 | cat >" + name + ".err";
    EXPECT_EQ(std::system(line.c_str()), 0);
    Outcome outcome;
    outcome.exit_code = std::stoi(Read(name + ".code"));
    outcome.out = Read(name + ".out");
    outcome.err = Read(name + ".err");
    return outcome;
  }

  // Ends when Release is called, with 3, or with 5 by SIGTERM, or with this host.
  PilotSpec Spec(const std::string& tag) const {
    PilotSpec spec;
    spec.tag = tag;
    spec.output_file = Path("logs/" + tag);
    spec.command = {"sh", "-c",
                    "echo $SPATE_PILOT_ID >>" + Path("started") +
                        "; trap 'echo told; exit 5' TERM; echo some words; while [ -e " + hold_ +
                        " ]; do sleep 0.05; done; echo last words >&2; exit 3"};
    return spec;
  }
  void Release() const { std::filesystem::remove(hold_); }
  // Lines of the pilots that were started.
  std::string Started() const { return Read("started"); }

  std::string Pilots() const {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    return std::string("home/.local/state/spate/pilots/host-") + name;
  }
  std::string Folder(const std::string& tag) const { return Pilots() + "/" + tag; }
  bool Has(const std::string& name) const { return std::filesystem::exists(Path(name)); }

 private:
  os::TempDir dir_;
  std::string hold_;
};

// Waits until `done`, half a minute at the most.
template <typename Done>
bool Await(Done done) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (testing::Test::HasFailure()) return false;
    if (std::chrono::steady_clock::now() > end) return false;
    poll(nullptr, 0, 20);
  }
  return true;
}

// The driver's report on the only pilot.
inline ListedPilot TheOnly(const PoolDriver& driver, const TestHost& host,
                           const PilotQuery& query) {
  auto pilots = driver.ReadQuery(query, host.Run(driver.Query(query)));
  if (!pilots || pilots->size() != 1) {
    ADD_FAILURE() << (pilots ? std::to_string(pilots->size()) + " pilots" : pilots.error().message);
    return {};
  }
  return pilots->front();
}
inline bool AwaitEnd(const PoolDriver& driver, const TestHost& host, const PilotQuery& query) {
  return Await([&] { return TheOnly(driver, host, query).state == PilotState::kEnded; });
}

}  // namespace spate::pool
