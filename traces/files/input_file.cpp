// SPDX-License-Identifier: Apache-2.0
#include "traces/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "traces/files/piped_input.h"
#include "traces/files/read_files.h"

namespace weft::traces {
namespace {

constexpr std::size_t kPacked = 16 << 10;
constexpr int kGzipOnly = 15 + 16;  // 16 asks zlib for a gzip header and trailer
constexpr std::string_view kGzipMagic = "\x1f\x8b";

}  // namespace

/// Members of a gzip file one after the other, as gzip itself reads them.
class InputFile::Inflater {
 public:
  explicit Inflater(InputFile& file) : file_(file), packed_(kPacked) {
    if (inflateInit2(&zlib_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&zlib_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::size_t read(char* to, std::size_t most) {
    if (done_) return 0;
    zlib_.next_out = reinterpret_cast<unsigned char*>(to);
    zlib_.avail_out = static_cast<unsigned>(std::min<std::size_t>(most, 1U << 30U));
    const unsigned wanted = zlib_.avail_out;
    while (zlib_.avail_out > 0 && !done_) {
      if (zlib_.avail_in == 0 && !fill()) {
        file_.fail("the gzip file ends within its data: it is truncated (gzip -t says the same)");
      }
      const int result = inflate(&zlib_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        next_member();
      } else if (result == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        file_.fail("the gzip file is damaged: " +
                   std::string(zlib_.msg != nullptr ? zlib_.msg : "not a deflate stream"));
      }
    }
    return wanted - zlib_.avail_out;
  }

 private:
  bool fill() {
    zlib_.avail_in = static_cast<unsigned>(file_.read_stored(packed_.data(), packed_.size()));
    zlib_.next_in = reinterpret_cast<unsigned char*>(packed_.data());
    return zlib_.avail_in > 0;
  }

  /// Zeros may follow, which tape drives and block devices leave; anything else must be another member.
  void next_member() {
    while (zlib_.avail_in > 0 || fill()) {
      if (*zlib_.next_in != 0) {
        if (*zlib_.next_in != static_cast<unsigned char>(kGzipMagic[0])) {
          file_.fail("the gzip file is damaged: bytes that are not gzip follow its end");
        }
        inflateReset(&zlib_);
        return;
      }
      ++zlib_.next_in;
      --zlib_.avail_in;
    }
    done_ = true;
  }

  InputFile& file_;
  z_stream zlib_{};
  std::vector<char> packed_;
  bool done_ = false;
};

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_directory(status);
}

InputFile::InputFile(std::filesystem::path file) : file_(std::move(file)) {
  begun_.resize(kGzipMagic.size());
  begun_.resize(read_stored(begun_.data(), begun_.size()));
  if (begun_ == kGzipMagic) inflater_ = std::make_unique<Inflater>(*this);
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string InputFile::name() const {
  return file_ == "-" ? "standard input" : file_.string();
}

std::optional<std::uint64_t> InputFile::rest() const {
  if (is_piped() || is_gzip() || identity_.size < position_) return std::nullopt;
  return identity_.size - position_;
}

void InputFile::fail(const std::string& message) const {
  throw FormatError(name(), 0, message);
}

void InputFile::open() {
  const auto fail_to_open = [this] { fail(std::string("cannot open: ") + std::strerror(errno)); };
  struct stat status {};
  if (!opened_) {
    // Known before it is opened: to open a FIFO twice would wait for another who writes to it.
    const bool is_stdin = file_ == "-";
    if ((is_stdin ? fstat(STDIN_FILENO, &status) : stat(file_.c_str(), &status)) != 0) fail_to_open();
    if (S_ISDIR(status.st_mode)) fail("expected a file, got a folder");
    if (S_ISREG(status.st_mode)) note_read(status.st_dev, status.st_ino, name());
    if (is_stdin || !S_ISREG(status.st_mode)) {
      piped_ = PipedInput::of(file_, status);
      if (piped_ == nullptr) fail_to_open();
      opened_ = true;
      return;
    }
  }
  descriptor_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) fail_to_open();
  const Identity identity = {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                             status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
  if (opened_ && (identity != identity_ || !S_ISREG(status.st_mode))) fail("was changed while it was read");
  opened_ = true;
  identity_ = identity;
}

void InputFile::park() {
  if (descriptor_ < 0) return;
  close(std::exchange(descriptor_, -1));
  if (is_gzip()) return;
  // What was looked at is read again.
  stored_at_ = position_;
  begun_at_ = begun_.size();
  peeked_ = std::string();
  peeked_at_ = 0;
}

std::size_t InputFile::read_stored(char* to, std::size_t most) {
  if (begun_at_ < begun_.size() && stored_at_ > 0) {
    const std::size_t count = std::min(most, begun_.size() - begun_at_);
    std::memcpy(to, begun_.data() + begun_at_, count);
    begun_at_ += count;
    return count;
  }
  if (descriptor_ < 0 && !piped_) open();
  if (piped_) return read_piped(to, most);
  std::size_t done = 0;
  while (done < most) {
    const ssize_t got = pread(descriptor_, to + done, most - done, static_cast<off_t>(stored_at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::string("cannot read: ") + std::strerror(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    stored_at_ += static_cast<std::uint64_t>(got);
  }
  if (done < most && stored_at_ < identity_.size) fail("was changed while it was read");
  return done;
}

std::size_t InputFile::read_piped(char* to, std::size_t most) {
  std::size_t done = 0;
  try {
    while (done < most) {
      const std::size_t got = piped_->read(stored_at_, to + done, most - done);
      if (got == 0) break;
      done += got;
      stored_at_ += got;
    }
  } catch (const std::system_error& error) {
    fail("cannot read: " + error.code().message());
  } catch (const std::length_error&) {
    fail("is no file but a pipe, of which more than " + std::to_string(PipedInput::kMostKept >> 20) +
         " MiB cannot be read twice: write it to a file first");
  }
  return done;
}

std::size_t InputFile::read_some(char* to, std::size_t most) {
  if (inflater_) return inflater_->read(to, most);
  std::size_t done = read_stored(to, most);
  // The first bytes are given apart from those that follow.
  if (done < most) done += read_stored(to + done, most - done);
  return done;
}

std::size_t InputFile::read(char* to, std::size_t most) {
  std::size_t done = 0;
  if (peeked_at_ < peeked_.size()) {
    done = std::min(most, peeked_.size() - peeked_at_);
    std::memcpy(to, peeked_.data() + peeked_at_, done);
    peeked_at_ += done;
    if (peeked_at_ == peeked_.size()) peeked_ = std::string(), peeked_at_ = 0;
  }
  if (done < most) done += read_some(to + done, most - done);
  position_ += done;
  return done;
}

std::string_view InputFile::peek(std::size_t most) {
  const std::size_t held = peeked_.size() - peeked_at_;
  if (held < most) {
    peeked_.erase(0, std::exchange(peeked_at_, 0));
    peeked_.resize(most);
    peeked_.resize(held + read_some(peeked_.data() + held, most - held));
  }
  return std::string_view(peeked_).substr(peeked_at_, most);
}

}  // namespace weft::traces
