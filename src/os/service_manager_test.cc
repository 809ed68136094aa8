#include "os/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "os/fake_loop.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

class ServiceManagerTest : public testing::Test {
 protected:
  ServiceManagerTest() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    EXPECT_EQ(bind(manager_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // The next line that was told; empty: none.
  std::string Told() {
    char line[100];
    ssize_t bytes = recv(manager_.get(), line, sizeof line, MSG_DONTWAIT);
    return bytes > 0 ? std::string(line, static_cast<size_t>(bytes)) : "";
  }

  TempDir dir_;
  const std::string path_ = dir_.Path("notify");
  Fd manager_{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  FakeLoop loop_;
};

TEST_F(ServiceManagerTest, HearsOfTheBeginAndTheEnd) {
  ServiceManager service(loop_, Environment({"NOTIFY_SOCKET=" + path_}));
  EXPECT_EQ(Told(), "");
  service.Ready();
  EXPECT_EQ(Told(), "READY=1");
  EXPECT_EQ(Told(), "");
  service.Stopping();
  EXPECT_EQ(Told(), "STOPPING=1");
}

TEST_F(ServiceManagerTest, SignsOfLifeComeTwiceAsOftenAsWanted) {
  ServiceManager service(loop_, Environment({"NOTIFY_SOCKET=" + path_, "WATCHDOG_USEC=10000000"}));
  service.Ready();
  EXPECT_EQ(Told(), "READY=1");
  EXPECT_EQ(Told(), "WATCHDOG=1");
  loop_.RunUntil(loop_.Now() + Duration::Seconds(4));
  EXPECT_EQ(Told(), "");
  loop_.RunUntil(loop_.Now() + Duration::Seconds(2));
  EXPECT_EQ(Told(), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, WithoutOneNothingIsTold) {
  ServiceManager none(loop_, Environment({"WATCHDOG_USEC=10000000"}));
  none.Ready();
  ServiceManager other(
      loop_, Environment({"NOTIFY_SOCKET=" + path_, "WATCHDOG_USEC=10000000", "WATCHDOG_PID=1"}));
  other.Ready();
  EXPECT_EQ(Told(), "READY=1");
  EXPECT_EQ(Told(), "");
}

}  // namespace
}  // namespace spate::os
