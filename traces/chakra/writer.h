// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "traces/chakra/node.h"

namespace weft::chakra {

/// Writes one rank's file record by record. Equal content gives equal bytes. The content goes to `FILE.part`, which
/// close() renames and the destructor otherwise removes. Throws std::system_error.
class TraceWriter {
 public:
  TraceWriter(std::filesystem::path file, const Metadata& metadata);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Texts must be UTF-8, or a reader will refuse the file.
  void write(const Node& node);
  void close();

 private:
  struct CloseFile {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  struct Message;

  template <typename M>
  void write_record(const M& message);
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  std::filesystem::path part_;
  std::unique_ptr<std::FILE, CloseFile> stream_;
  std::string record_;
  std::unique_ptr<Message> message_;
};

}  // namespace weft::chakra
