// SPDX-License-Identifier: Apache-2.0
// A collective algorithm of our own: a direct Allgather, in which every member writes its block to all others and waits
// for all of theirs. It knows no other collective, so that Weft does those by rings.
#include <memory>

#include "sw/collectives/algorithm.h"
#include "sw/collectives/mesh.h"

using namespace weft;
using collectives::BlockMap;

namespace {

// Fields of the platform, at collectives.my_allgather.
struct Config {
  int window = 4;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("window", window, "Blocks that a member has on their way at a time", Range{1, 1024});
  }
};

class DirectAllgather final : public collectives::Group {
 public:
  explicit DirectAllgather(const collectives::GroupSite& site)
      : mesh_(site.ranks, site.name + " my-allgather"), window_(site.own.as<Config>().window) {}

  int size() const override { return mesh_.size(); }

  // Firmware: each member runs this on a thread of its own. Its block is in its place already.
  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t /*granule*/) override {
    collectives::Mesh::Member& here = mesh_[member];
    const collectives::Extent own = blocks(member);
    for (int i = 1; i < size(); ++i) here.invite((member + i) % size());
    for (int i = 1; i < size(); ++i) {
      const int peer = (member + i) % size();
      co_await here.invited(peer);
      co_await here.acknowledged(window_ - 1);
      here.write(peer, buffer + own.offset, own.bytes);
    }
    co_await here.received(size() - 1);
    co_await here.acknowledged();
  }

 private:
  collectives::Mesh mesh_;
  int window_;
};

}  // namespace

void provide_my_allgather() {
  collectives::provide({.name = "my-allgather",
                        .doc = "every member writes its block to all others",
                        .operations = {dimensions::Operation::kAllgather},
                        .rooted = {},
                        .config = Config(),
                        .make = [](collectives::GroupSite& site) { return std::make_unique<DirectAllgather>(site); }});
}
