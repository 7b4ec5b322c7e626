#include "server/frontend/methods/reflection.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"

namespace warpfold {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using grpc::reflection::v1alpha::ExtensionNumberResponse;
using grpc::reflection::v1alpha::ExtensionRequest;
using grpc::reflection::v1alpha::FileDescriptorResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

const DescriptorPool& Pool() { return *DescriptorPool::generated_pool(); }

// With the files that it imports, each once.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
             FileDescriptorResponse* out) {
  if (!added.insert(&file).second) return;
  FileDescriptorProto proto;
  file.CopyTo(&proto);
  *out->add_file_descriptor_proto() = proto.SerializeAsString();
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), added, out);
}

absl::Status TellFile(const FileDescriptor& file, ServerReflectionResponse* out) {
  std::set<const FileDescriptor*> added;
  AddFile(file, added, out->mutable_file_descriptor_response());
  return absl::OkStatus();
}

absl::Status TellFileByName(const std::string& name, ServerReflectionResponse* out) {
  const FileDescriptor* const file = Pool().FindFileByName(name);
  if (file == nullptr) return absl::NotFoundError("File not found.");
  return TellFile(*file, out);
}

absl::Status TellFileOfSymbol(const std::string& name, ServerReflectionResponse* out) {
  const FileDescriptor* const file = Pool().FindFileContainingSymbol(name);
  if (file == nullptr) return absl::NotFoundError("Symbol not found.");
  return TellFile(*file, out);
}

absl::Status TellFileOfExtension(const ExtensionRequest& request, ServerReflectionResponse* out) {
  const Descriptor* const type = Pool().FindMessageTypeByName(request.containing_type());
  if (type == nullptr) return absl::NotFoundError("Type not found.");
  const FieldDescriptor* const extension =
      Pool().FindExtensionByNumber(type, request.extension_number());
  if (extension == nullptr) return absl::NotFoundError("Extension not found.");
  return TellFile(*extension->file(), out);
}

absl::Status TellExtensions(const std::string& type_name, ServerReflectionResponse* out) {
  const Descriptor* const type = Pool().FindMessageTypeByName(type_name);
  if (type == nullptr) return absl::NotFoundError("Type not found.");
  std::vector<const FieldDescriptor*> extensions;
  Pool().FindAllExtensions(type, &extensions);
  ExtensionNumberResponse* const told = out->mutable_all_extension_numbers_response();
  told->set_base_type_name(type_name);
  for (const FieldDescriptor* extension : extensions) {
    told->add_extension_number(extension->number());
  }
  return absl::OkStatus();
}

absl::Status Tell(const ServerReflectionRequest& request, absl::Span<const std::string> services,
                  ServerReflectionResponse* out) {
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      return TellFileByName(request.file_by_filename(), out);
    case ServerReflectionRequest::kFileContainingSymbol:
      return TellFileOfSymbol(request.file_containing_symbol(), out);
    case ServerReflectionRequest::kFileContainingExtension:
      return TellFileOfExtension(request.file_containing_extension(), out);
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      return TellExtensions(request.all_extension_numbers_of_type(), out);
    case ServerReflectionRequest::kListServices:
      for (const std::string& name : services) {
        out->mutable_list_services_response()->add_service()->set_name(name);
      }
      return absl::OkStatus();
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      return absl::UnimplementedError("");
  }
  __builtin_unreachable();
}

}  // namespace

ServerReflectionResponse Reflect(ServerReflectionRequest request,
                                 absl::Span<const std::string> services) {
  ServerReflectionResponse response;
  const absl::Status told = Tell(request, services, &response);
  if (!told.ok()) {
    response.mutable_error_response()->set_error_code(static_cast<int>(told.code()));
    response.mutable_error_response()->set_error_message(std::string(told.message()));
  }
  response.set_valid_host(request.host());
  *response.mutable_original_request() = std::move(request);
  return response;
}

}  // namespace warpfold
