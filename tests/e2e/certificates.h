// A certificate authority for a test: certificates for "localhost" that it signed, as PEM files.
#ifndef WARPFOLD_TESTS_E2E_CERTIFICATES_H_
#define WARPFOLD_TESTS_E2E_CERTIFICATES_H_

#include <memory>
#include <string>

namespace warpfold::e2e {

struct KeyAndCertificate {
  std::string key;          // PEM
  std::string certificate;  // PEM
};

class Authority {
 public:
  // Its own certificate is valid for `days`, negative: was.
  explicit Authority(int days = 1);
  ~Authority();

  // PEM; what a peer has to trust.
  const std::string& certificate() const { return certificate_; }
  // A new key with a certificate for "localhost" that is valid for `days`, negative: was. It began
  // ten days ago, or begins in `from_days`.
  KeyAndCertificate Issue(int days = 1, int from_days = -10) const;

 private:
  struct Signer;
  std::unique_ptr<Signer> signer_;
  std::string certificate_;
};

}  // namespace warpfold::e2e

#endif  // WARPFOLD_TESTS_E2E_CERTIFICATES_H_
