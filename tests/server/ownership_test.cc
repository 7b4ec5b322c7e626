// What a caller made is there for its owner, and for others as far as the owner, or an
// administrator's scope, says: over a real server.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "inference/grpc_service.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "server/core/admission/caller_table.h"
#include "tests/contract/values_of.h"
#include "tests/server/access_lines.h"
#include "tests/server/frontend_fixture.h"
#include "tests/shm_segment.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold {
namespace {

using grpc::StatusCode;

class OwnershipTest : public FrontendFixture {
 protected:
  void SetUp() override {
    std::string callers;
    for (const char* name : {"owner", "reader", "stranger"}) {
      absl::StrAppend(&callers, Line(name, "reduce,resident,memory"));
    }
    callers_ = *CallerTable::Parse(callers + Line("chief", "reduce,resident,memory,admin"), {});
    options_.limits.regions.shared_prefix = ShmSegment::kPrefix;
    used_access_log_ = &lines_.access_log();
    auto device = std::make_unique<GatedDevice>();
    device->Open();
    Serve(std::move(device), {.workers = 2});
    tensor_stub_ = v1::TensorService::NewStub(channel_);
    inference_stub_ = inference::GRPCInferenceService::NewStub(channel_);
  }

  static std::string Token(const std::string& name) { return "the-token-of-" + name; }
  static std::string Line(const std::string& name, const char* scopes) {
    return absl::StrCat("caller=", name, " token-sha256=", ToHex(HashOf(Token(name))),
                        " scopes=", scopes, "\n");
  }
  static std::unique_ptr<grpc::ClientContext> As(const std::string& name) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->AddMetadata("authorization", "Bearer " + Token(name));
    return context;
  }

  // A complete tensor of no elements.
  std::string Create(const std::string& name, const std::vector<std::string>& readers = {}) {
    v1::CreateTensorRequest request;
    request.mutable_tensor()->set_dtype(v1::DTYPE_I64);
    request.mutable_tensor()->add_shape(0);
    request.mutable_readers()->Add(readers.begin(), readers.end());
    v1::CreateTensorResponse response;
    const grpc::Status status = tensor_stub_->CreateTensor(As(name).get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.tensor_id();
  }
  grpc::Status Reduce(const std::string& name, const v1::ReduceRequest& request) {
    v1::ReduceResponse response;
    return stub_->Reduce(As(name).get(), request, &response);
  }
  grpc::Status ReduceTensor(const std::string& name, const std::string& id, bool consume = false) {
    v1::ReduceRequest request;
    request.add_ops()->set_op(v1::OP_SUM);
    ValuesOf(request).set_tensor_id(id);
    request.set_consume(consume);
    return Reduce(name, request);
  }
  // A byte that is not there: INVALID_ARGUMENT of who may write.
  grpc::Status Write(const std::string& name, const std::string& id) {
    const std::unique_ptr<grpc::ClientContext> context = As(name);
    v1::WriteTensorResponse response;
    const auto writer = tensor_stub_->WriteTensor(context.get(), &response);
    v1::WriteTensorRequest message;
    message.mutable_header()->set_tensor_id(id);
    message.mutable_header()->set_size_bytes(1);
    writer->WriteLast(message, {});
    return writer->Finish();
  }
  StatusCode Delete(const std::string& name, const std::string& id) {
    v1::DeleteTensorRequest request;
    request.set_tensor_id(id);
    v1::DeleteTensorResponse response;
    return tensor_stub_->DeleteTensor(As(name).get(), request, &response).error_code();
  }
  std::vector<v1::ResidentTensor> ListTensors(const std::string& name) {
    v1::ListTensorsResponse response;
    EXPECT_TRUE(tensor_stub_->ListTensors(As(name).get(), {}, &response).ok());
    return {response.tensors().begin(), response.tensors().end()};
  }

  grpc::Status Register(const std::string& name, const std::string& region) {
    v1::RegisterSharedMemoryRequest request;
    request.set_name(region);
    request.set_key(segment_.key());
    request.set_size_bytes(8);
    v1::RegisterSharedMemoryResponse response;
    return tensor_stub_->RegisterSharedMemory(As(name).get(), request, &response);
  }
  grpc::Status ReduceRegion(const std::string& name, const std::string& region) {
    v1::ReduceRequest request = Request();
    request.clear_data();
    ValuesOf(request).mutable_memory()->set_name(region);
    ValuesOf(request).mutable_memory()->set_size_bytes(8);
    return Reduce(name, request);
  }
  StatusCode Unregister(const std::string& name, const std::string& region,
                        const std::string& owner = "") {
    v1::UnregisterMemoryRequest request;
    request.set_name(region);
    request.set_owner(owner);
    v1::UnregisterMemoryResponse response;
    return tensor_stub_->UnregisterMemory(As(name).get(), request, &response).error_code();
  }
  // "owner/name" of each.
  std::vector<std::string> ListMemory(const std::string& name) {
    v1::ListMemoryResponse response;
    EXPECT_TRUE(tensor_stub_->ListMemory(As(name).get(), {}, &response).ok());
    std::vector<std::string> regions;
    for (const v1::MemoryRegion& region : response.regions()) {
      regions.push_back(absl::StrCat(region.owner(), "/", region.name()));
    }
    return regions;
  }

  AccessLines lines_{{.fast_per_s = 0, .failed_per_s = 0}};
  std::unique_ptr<v1::TensorService::Stub> tensor_stub_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> inference_stub_;
  const ShmSegment segment_{"12345678"};
};

TEST_F(OwnershipTest, ATensorIsItsOwners) {
  const std::string id = Create("owner");
  EXPECT_EQ(ReduceTensor("stranger", id).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(ReduceTensor("stranger", id, true).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Write("stranger", id).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Delete("stranger", id), StatusCode::NOT_FOUND);
  EXPECT_TRUE(ListTensors("stranger").empty());
  // Nothing tells it from a tensor that never was.
  EXPECT_EQ(ReduceTensor("stranger", id).error_message(),
            ReduceTensor("stranger", "none").error_message());
  EXPECT_EQ(Write("stranger", id).error_message(), Write("stranger", "none").error_message());

  EXPECT_TRUE(ReduceTensor("owner", id).ok());
  EXPECT_EQ(Write("owner", id).error_code(), StatusCode::INVALID_ARGUMENT);
  ASSERT_EQ(ListTensors("owner").size(), 1U);
  EXPECT_EQ(ListTensors("owner")[0].owner(), "owner");
  EXPECT_TRUE(ReduceTensor("owner", id, true).ok());
  EXPECT_EQ(Delete("owner", id), StatusCode::NOT_FOUND) << "consumed";
}

TEST_F(OwnershipTest, AReaderReducesAndNoMore) {
  const std::string id = Create("owner", {"nobody-of-this-name", "reader"});
  EXPECT_TRUE(ReduceTensor("reader", id).ok());
  const grpc::Status consumed = ReduceTensor("reader", id, true);
  EXPECT_EQ(consumed.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(consumed.error_message(), "consume: the tensor is another caller's");
  EXPECT_EQ(Write("reader", id).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Delete("reader", id), StatusCode::NOT_FOUND);
  EXPECT_TRUE(ListTensors("reader").empty());
  EXPECT_EQ(ReduceTensor("stranger", id).error_code(), StatusCode::NOT_FOUND);

  const std::string everybodys = Create("owner", {"any"});
  EXPECT_TRUE(ReduceTensor("stranger", everybodys).ok());
  EXPECT_EQ(Delete("stranger", everybodys), StatusCode::NOT_FOUND);
  for (const v1::ResidentTensor& tensor : ListTensors("owner")) {
    EXPECT_EQ(tensor.readers_size(), tensor.tensor_id() == everybodys ? 1 : 2);
  }
}

TEST_F(OwnershipTest, AnAdministratorSeesAndEndsWhatOthersMadeAndNoMore) {
  const std::string id = Create("owner");
  ASSERT_EQ(ListTensors("chief").size(), 1U);
  EXPECT_EQ(ListTensors("chief")[0].owner(), "owner");
  EXPECT_EQ(ReduceTensor("chief", id).error_code(), StatusCode::NOT_FOUND);
  const std::string shown = Create("owner", {"any"});
  EXPECT_EQ(ReduceTensor("chief", shown, true).error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Delete("chief", shown), StatusCode::OK);
  EXPECT_EQ(Write("chief", id).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Delete("chief", id), StatusCode::OK);
  EXPECT_EQ(ReduceTensor("owner", id).error_code(), StatusCode::NOT_FOUND);

  ASSERT_TRUE(Register("owner", "r").ok());
  EXPECT_EQ(ListMemory("chief"), std::vector<std::string>{"owner/r"});
  EXPECT_EQ(ReduceRegion("chief", "r").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Unregister("chief", "r"), StatusCode::NOT_FOUND) << "none of its own";
  EXPECT_EQ(Unregister("chief", "r", "owner"), StatusCode::OK);
  EXPECT_TRUE(ListMemory("owner").empty());
}

// Neither a fast success nor a failure has one otherwise here.
TEST_F(OwnershipTest, WhatAnAdministratorDidToOthersHasALine) {
  const std::string id = Create("owner");
  const std::string own = Create("chief");
  ASSERT_TRUE(Register("owner", "r").ok());
  EXPECT_EQ(Delete("chief", id), StatusCode::OK);
  EXPECT_EQ(Delete("chief", own), StatusCode::OK);
  EXPECT_EQ(Unregister("chief", "r", "nobody"), StatusCode::NOT_FOUND);
  EXPECT_EQ(Unregister("chief", "r", "owner"), StatusCode::OK);
  server_ = nullptr;
  const std::vector<nlohmann::json> lines = lines_.Take();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("method"), "DeleteTensor");
  EXPECT_EQ(lines[0].at("tensor_id"), id);
  EXPECT_EQ(lines[1].at("method"), "UnregisterMemory");
  EXPECT_EQ(lines[1].at("region"), "r");
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line.at("caller"), "chief");
    EXPECT_EQ(line.at("owner"), "owner");
  }
}

TEST_F(OwnershipTest, EachCallerHasNamesOfItsOwn) {
  ASSERT_TRUE(Register("owner", "r").ok());
  EXPECT_EQ(ReduceRegion("stranger", "r").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Unregister("stranger", "r"), StatusCode::NOT_FOUND);
  EXPECT_EQ(Unregister("stranger", "r", "owner"), StatusCode::NOT_FOUND);
  EXPECT_TRUE(ListMemory("stranger").empty());

  ASSERT_TRUE(Register("stranger", "r").ok()) << "the same name";
  EXPECT_EQ(Register("stranger", "r").error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(ReduceRegion("stranger", "r").ok());
  EXPECT_EQ(Unregister("stranger", "r"), StatusCode::OK);
  EXPECT_TRUE(ReduceRegion("owner", "r").ok());
  EXPECT_EQ(ListMemory("owner"), std::vector<std::string>{"owner/r"});
}

TEST_F(OwnershipTest, KServesAllIsTheCallersAll) {
  ASSERT_TRUE(Register("owner", "r").ok());
  ASSERT_TRUE(Register("chief", "s").ok());
  const auto names = [this](const std::string& caller, const std::string& name) {
    inference::SystemSharedMemoryStatusRequest request;
    request.set_name(name);
    inference::SystemSharedMemoryStatusResponse response;
    const grpc::Status status =
        inference_stub_->SystemSharedMemoryStatus(As(caller).get(), request, &response);
    std::string found = status.ok() ? "" : "not found";
    for (const auto& [key, region] : response.regions()) found += key;
    return found;
  };
  EXPECT_EQ(names("owner", ""), "r");
  EXPECT_EQ(names("owner", "r"), "r");
  EXPECT_EQ(names("stranger", ""), "");
  EXPECT_EQ(names("stranger", "r"), "not found");
  EXPECT_EQ(names("chief", ""), "s");
  EXPECT_EQ(names("chief", "r"), "not found");
  for (const char* caller : {"stranger", "chief"}) {
    for (const char* name : {"r", ""}) {
      inference::SystemSharedMemoryUnregisterRequest request;
      request.set_name(name);
      inference::SystemSharedMemoryUnregisterResponse response;
      EXPECT_TRUE(
          inference_stub_->SystemSharedMemoryUnregister(As(caller).get(), request, &response).ok());
    }
  }
  EXPECT_EQ(ListMemory("chief"), std::vector<std::string>{"owner/r"}) << "the chief's has gone";
}

TEST_F(OwnershipTest, ATensorOutlivesItsOwnersToken) {
  const std::string id = Create("owner");
  server_->SetAdmitted({*CallerTable::Parse(Line("chief", "resident,admin"), {}), {}});
  EXPECT_EQ(ReduceTensor("owner", id).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ListTensors("chief").size(), 1U);
  EXPECT_EQ(Delete("chief", id), StatusCode::OK);
}

TEST_F(OwnershipTest, ReadersThatAreNone) {
  v1::CreateTensorRequest request;
  request.mutable_tensor()->set_dtype(v1::DTYPE_I64);
  request.mutable_tensor()->add_shape(0);
  v1::CreateTensorResponse response;
  request.add_readers("reader");
  request.add_readers("two words");
  grpc::Status status = tensor_stub_->CreateTensor(As("owner").get(), request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "readers[1]: a name has 1 to 64 letters, digits, '.', '_' and '-'");
  request.clear_readers();
  for (int i = 0; i < 64; ++i) request.add_readers("reader");
  EXPECT_TRUE(tensor_stub_->CreateTensor(As("owner").get(), request, &response).ok());
  request.add_readers("reader");
  status = tensor_stub_->CreateTensor(As("owner").get(), request, &response);
  EXPECT_EQ(status.error_message(), "readers: are 65, above 64");
}

}  // namespace
}  // namespace warpfold
