// Answers of a hub to the questions of its clients, and changes for them (wire/questions.h): the
// way to the one that answers (question.h), and what all of them use.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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
#include "wire/question_row.h"

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
                            const wire::QuestionRow& row, const wire::Question& question);

// A question on its way to its answer.
struct Asking {
  ClientRequest& client;
  Instant now;   // by the loop's clock
  Instant wall;  // by the wall clock

  const Caller& caller() const { return client.caller(); }
  template <typename T>
  void SendAnswer(const T& answer) {
    client.SendAnswer(answer);
  }
  void End() { client.End(); }
  // The whole answer, now, or when what was posted before is durable.
  template <typename T>
  Status EndWith(const T& answer) {
    SendAnswer(answer);
    End();
    return {};
  }
  template <typename T>
  Status EndWhenSettled(T answer) {
    client.WhenSettled([client = &client, answer = std::move(answer)] {
      client->SendAnswer(answer);
      client->End();
    });
    return {};
  }
  template <typename T>
  Status GiveAll(const Result<std::vector<T>>& answers) {
    if (!answers) return std::unexpected(answers.error());
    for (const T& answer : *answers) SendAnswer(answer);
    End();
    return {};
  }
  // Gives what comes later; the client may be gone by then.
  template <typename T>
  std::function<void(Result<T>)> GiveLater() {
    auto answer = std::make_shared<Result<T>>();
    auto give = client.Guarded([client = &client, answer] {
      if (!*answer) return client->Fail(answer->error());
      client->SendAnswer(**answer);
      client->End();
    });
    return [answer, give = std::move(give)](Result<T> told) {
      *answer = std::move(told);
      give();
    };
  }
};

// Asks the node, and passes its answer on unread.
void PassOn(Asking& asking, NodeCalls& calls, const std::string& node, wire::Ask ask);

}  // namespace spate::hub
