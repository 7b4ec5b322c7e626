// What a newer client says and this server does not know.
#ifndef WARPFOLD_SERVER_FRONTEND_UNKNOWN_FIELDS_H_
#define WARPFOLD_SERVER_FRONTEND_UNKNOWN_FIELDS_H_

#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"

namespace warpfold {

// The number of the first field that the contract here does not have; 0: there is none. Of
// `message` itself, and not of those in it.
inline int FirstUnknownField(const google::protobuf::Message& message) {
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  return unknown.empty() ? 0 : unknown.field(0).number();
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_UNKNOWN_FIELDS_H_
