#include <warpfold/client.h>

#include <cstring>
#include <iostream>

namespace v1 = warpfold::v1;

int main(int, char** argv) {
  auto client = warpfold::client::Client::Connect(argv[1], {});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const auto answer = (*client)->Reduce({v1::DTYPE_F32, {2, 3}, std::as_bytes(std::span(x))},
                                        {.ops = {v1::OP_SUM}, .axes = {1}});
  if (!answer.ok()) return std::cerr << answer.status() << "\n", 1;
  float sums[2];
  std::memcpy(sums, answer->results[0].tensor.data.data(), sizeof(sums));
  std::cout << sums[0] << " " << sums[1] << "\n";
}
