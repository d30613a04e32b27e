// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/convert.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "traces/chakra/json.h"
#include "traces/chakra/json/messages.h"
#include "traces/chakra/reader.h"
#include "traces/chakra/writer.h"

namespace weft::chakra {
namespace {

void write_json(TraceReader& reader, traces::OutputFile& file) {
  file.write("{\"metadata\": " + to_json(reader.metadata()).dump() + ", \"nodes\": [");
  bool is_first = true;
  for (Node node; reader.next(node); is_first = false) file.write((is_first ? "\n" : ",\n") + to_json(node).dump());
  file.write("\n]}\n");
}

void write_messages(TraceReader& reader, traces::OutputFile& file) {
  try {
    file.write(to_message_json(reader.metadata()) + "\n");
    for (Node node; reader.next(node);) file.write(to_message_json(node) + "\n");
  } catch (const std::invalid_argument& error) {
    throw traces::FormatError(reader.file().string(), 0, error.what());
  }
}

}  // namespace

std::vector<std::string> convert_trace(const std::filesystem::path& from, const std::filesystem::path& to,
                                       TraceFormat format) {
  TraceReader reader(from);
  if (format == TraceFormat::kProtobuf) {
    TraceWriter writer(to, reader.metadata());
    for (Node node; reader.next(node);) writer.write(node);
    writer.close();
    return reader.left_out();
  }
  traces::OutputFile file(to);
  if (format == TraceFormat::kJson) {
    write_json(reader, file);
  } else {
    write_messages(reader, file);
  }
  file.close();
  return reader.left_out();
}

}  // namespace weft::chakra
