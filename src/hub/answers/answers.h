// Answers of a hub to the questions of its clients, and changes for them (wire/questions.h).
//
// Each answer takes the parts of the hub that it needs, and nothing else. An error is the answer;
// without one the answer has been given, or comes.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "base/bytes32.h"
#include "core/model/facts.h"
#include "hub/client_request.h"
#include "hub/credentials.h"
#include "hub/jobs.h"
#include "hub/node_calls.h"
#include "hub/nodes.h"
#include "hub/pools/pools.h"
#include "hub/self.h"
#include "wire/client_messages.h"

namespace spate::hub {

// All parts that answers are made of.
struct AnswerParts {
  Jobs& jobs;  // with the engine and the journal behind them
  Nodes& nodes;
  NodeCalls& calls;
  Pools& pools;
  Credentials& access;
  const Self& self;
  size_t clients = 0;  // that are connected
  // Same contract as in Service::Options.
  const WriteLog& log;
  const std::function<void()>& stop_asked;
  const std::function<Result<Bytes32>()>& make_secret;
  const std::function<void(HubFacts& facts)>& about;
};

// The client has its answer, or gets it later.
void AnswerQuery(const AnswerParts& parts, ClientRequest& client, wire::Query query);

// Facts for the journal's reader, of the jobs that the question names and that have not ended.
std::vector<JobLive> LiveOf(const AnswerParts& parts, const Caller& caller,
                            const wire::Question& question);

// A question on its way to its answer.
struct Asking {
  ClientRequest& client;
  Instant now;   // by the loop's clock
  Instant wall;  // by the wall clock

  const Caller& caller() const { return client.caller(); }
  template <typename T>
  void Give(const T& answer) {
    client.Give(answer);
  }
  void End() { client.End(); }
  // The whole answer, when what was posted before is durable.
  template <typename T>
  void EndWhenSettled(T answer) {
    client.WhenSettled([client = &client, answer = std::move(answer)] {
      client->Give(answer);
      client->End();
    });
  }
};

// ---- Of jobs (answer_jobs.cc)
Status Answer(Asking& asking, Jobs& jobs, const wire::ChangeJobs& asked);
Status Answer(Asking& asking, Jobs& jobs, const wire::Cancel& asked);
Status Answer(Asking& asking, Jobs& jobs, const wire::Forget& asked);
// (answer_steer.cc)
Status Answer(Asking& asking, Jobs& jobs, const Nodes& nodes, NodeCalls& calls,
              const wire::Steer& asked);
Status Answer(Asking& asking, Jobs& jobs, const wire::Retry& asked);
// Why tasks wait (answer_why.cc).
Status Answer(Asking& asking, Jobs& jobs, const Nodes& nodes, const Pools& pools,
              const wire::ExplainTasks& asked);
Status Answer(Asking& asking, Jobs& jobs, const Nodes& nodes, const Pools& pools,
              const wire::LookAtJobs& asked);
// ---- Of what is left to do (answer_work.cc)
Status Answer(Asking& asking, Jobs& jobs, const Nodes& nodes, const wire::LookAtWork& asked);
Status Answer(Asking& asking, Jobs& jobs, NodeCalls& calls, const wire::ReadStderr& asked);
// A look at a task that runs (answer_look.cc).
Status Answer(Asking& asking, Jobs& jobs, const Nodes& nodes, NodeCalls& calls,
              const wire::LookAtRun& asked);
Status Answer(Asking& asking, Jobs& jobs, const wire::Withdraw& asked);
Status Answer(Asking& asking, Jobs& jobs, const wire::TrustNodes& asked);
Status Answer(Asking& asking, Jobs& jobs, const wire::ResetCounts& asked);
// ---- Of pools (answer_pools.cc)
Status Answer(Asking& asking, const Pools& pools, const wire::LookAtPools& asked);
Status Answer(Asking& asking, const Pools& pools, const wire::ReadPoolLog& asked);
Status Answer(Asking& asking, Pools& pools, const wire::ReadPilotOutput& asked);
Status Answer(Asking& asking, Pools& pools, const wire::TryPool& asked);
Status Answer(Asking& asking, Pools& pools, const wire::AddPool& asked);
Status Answer(Asking& asking, Pools& pools, const wire::ChangePools& asked);
// ---- Of nodes (answer_nodes.cc)
Status Answer(Asking& asking, const Jobs& jobs, const Nodes& nodes, const wire::ListNodes& asked);
Status Answer(Asking& asking, Hub& hub, Nodes& nodes, const WriteLog& log,
              const wire::ChangeNodes& asked);
Status Answer(Asking& asking, const Nodes& nodes, NodeCalls& calls, const wire::AskNode& asked);
// Asks the node, and passes its answer on unread.
void PassOn(Asking& asking, NodeCalls& calls, const std::string& node, const std::string& by,
            wire::Ask ask);
// ---- Of users and credentials (answer_users.cc)
Status Answer(Asking& asking, const Jobs& jobs, const wire::ListUsers& asked);
Status Answer(Asking& asking, Jobs& jobs, const wire::SetUser& asked);
Status Answer(Asking& asking, const Credentials& access, const wire::ListAccess& asked);
Status Answer(Asking& asking, Credentials& access, const Self& self,
              const std::function<Result<Bytes32>()>& make_secret, const wire::AddAccess& asked);
Status Answer(Asking& asking, Credentials& access, const wire::RevokeAccess& asked);

}  // namespace spate::hub
