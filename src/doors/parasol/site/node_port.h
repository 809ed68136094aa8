// NodePort: the port of a node of a site, where the site's administrator asks what it runs, and
// ends it, while there may be no hub. The other side is node_asker.h.
//
// It takes two questions, LookAtNode and StopNode (wire/questions.h). Thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/facts.h"
#include "doors/parasol/site/node_kit.h"
#include "link/connection.h"
#include "link/entrance.h"
#include "os/subnet.h"
#include "wire/client_messages.h"

namespace spate::parasol {

class NodePort final : public link::Gate {
 public:
  struct Options {
    std::vector<os::Address> listen;
    access::Access access;             // the administrator's
    std::optional<os::Subnets> peers;  // nobody else may come
  };
  struct Events {
    std::function<NodeReport()> report;
    std::function<void()> stop;  // when it was answered
    std::function<void(std::string)> log;
  };
  static Result<std::unique_ptr<NodePort>> Open(os::RealLoop& loop, const transport::Identity& key,
                                                Options options, Events events);

  ~NodePort() override;
  NodePort(const NodePort&) = delete;
  NodePort& operator=(const NodePort&) = delete;

  // Where it listens: numbers, with the ports that were taken for port 0.
  std::vector<os::SocketAddress> addresses() const { return entrance_->addresses(); }

  // link::Gate
  std::expected<link::Admission, wire::Refusal> Admit(const link::Guest& guest) override;

 private:
  NodePort(os::RealLoop& loop, Options options, Events events)
      : loop_(loop), options_(std::move(options)), events_(std::move(events)) {}
  void Arrived(link::Visitor visitor);
  void OnRequest(uint64_t id, std::string_view bytes);
  void Closed(uint64_t id);
  static void Send(link::Connection& connection, uint32_t request, const wire::Reply& reply);

  os::RealLoop& loop_;
  const Options options_;
  const Events events_;
  std::unique_ptr<link::Entrance> entrance_;
  std::map<uint64_t, std::unique_ptr<link::Connection>> connections_;
  uint64_t last_ = 0;
  uint64_t stopping_ = 0;  // the connection that asked for it; 0: none
  os::TimerId timer_ = 0;
};

}  // namespace spate::parasol
