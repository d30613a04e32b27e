// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "traces/chakra/node.h"
#include "traces/files/output_file.h"

namespace weft::chakra {

/// Writes one rank's file record by record, which appears when it is complete (traces::OutputFile), in gzip where its
/// name ends in .gz. Equal content gives equal bytes. Throws std::system_error.
class TraceWriter {
 public:
  TraceWriter(const std::filesystem::path& file, const Metadata& metadata);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Texts must be UTF-8, or a reader will refuse the file.
  void write(const Node& node);
  void close() { file_.close(); }

 private:
  struct Message;

  template <typename M>
  void write_record(const M& message);

  traces::OutputFile file_;
  std::string name_;
  std::string record_;
  std::unique_ptr<Message> message_;
};

}  // namespace weft::chakra
