// SPDX-License-Identifier: Apache-2.0
// Products beside Allgathers and ReduceScatters of tokens, and asynchronous tensor parallelism: the same in chunks.
#include "sw/workloads/step/step.h"

namespace weft::workloads {

namespace {

/// More than are under way at a time.
constexpr std::int64_t kTags = 1 << 12;

/// Whether weights' gradients are computed from the gathered tokens themselves.
bool gradients_use(Part part) {
  return part == Part::kAttentionQkvAgain || part == Part::kMlpUpAgain || part == Part::kMlpDownGradient ||
         part == Part::kAttentionOutGradient;
}

}  // namespace

/// `also`: what the products wait for beside the tokens.
Ids RankStep::gather_and_multiply(Part part, const std::string& what, const Ids& in, const Ids& also) {
  if (config_.async_tensor_parallel) return multiply_as_tokens_come(part, what, joined({in, also}));
  return compute(part, joined({gather_tokens(what, in), also}));
}

Ids RankStep::multiply_and_sum(Part part, const std::string& what, const Ids& in) {
  if (config_.async_tensor_parallel) return multiply_and_send(part, what, in);
  return sum_tokens(what, compute(part, in));
}

/// Attention takes and gives one sequence after the other. Chunks are ranks' tokens, which have a place in each
/// sequence, so that tokens come as all of one place, then all of the next. No elementwise kernel is beside attention
/// that could write them so: they are copied.
Ids RankStep::reorder(const std::string& what, const Ids& data) {
  if (config_.sequences_of_microbatch() == 1) return data;
  const std::int64_t bytes = config_.tokens() * config_.model.query_width() / tp_ * config_.element_bytes;
  return copy(what + " reorder", bytes, bytes, data);
}

/// Of the ring of tp, so many places behind this rank.
std::int64_t RankStep::tensor_rank(std::int64_t steps_on) const {
  const std::int64_t place = config_.parallel.coordinate(rank_, Axis::kTensor);
  return config_.parallel.with(rank_, Axis::kTensor, (place + steps_on) % tp_);
}

/// Each rank copies its tokens to where others read them and multiplies its own; then those of the next rank and so on,
/// each copied while those before are multiplied. A copy engine does one copy at a time.
Ids RankStep::multiply_as_tokens_come(Part part, const std::string& what, const Ids& in) {
  const std::int64_t bytes = gathered_token_bytes() / tp_;
  const std::string all = prefix_ + what + " chunk";
  const Ids own = emitter_.compute(name(prefix_ + what + " copy-in"), share_.copy(bytes, bytes), in);
  std::vector<Ids> come = {own};
  Ids sent = own;
  for (std::int64_t i = 1; i < tp_; ++i) {
    // Who comes i places behind the other one reads in its step i.
    sent = emitter_.send(name(all + std::to_string(i) + " send"), Purpose::kTensorParallel, tensor_rank(tp_ - i),
                         chunk_tag_, bytes, sent);
    come.push_back(
        emitter_.receive(name(all + std::to_string(i) + " receive"), tensor_rank(i), chunk_tag_, bytes, own));
    chunk_tag_ = (chunk_tag_ + 1) % kTags;
  }
  const std::string products = prefix_ + std::string(name_of(part)) + " chunk";
  Ids result;
  for (std::int64_t i = 0; i < tp_; ++i) {
    result = emitter_.compute(name(products + std::to_string(i)), here().chunks[static_cast<std::size_t>(part)],
                              come[static_cast<std::size_t>(i)]);
  }
  // They have come by their place in the sequence, which is not the first dimension.
  if (gradients_use(part)) result = copy(what + " copy-out", gathered_token_bytes(), gathered_token_bytes(), result);
  if (here().rests[static_cast<std::size_t>(part)].bytes > 0) {
    result = emitter_.compute(name(prefix_ + std::string(name_of(part)) + " rest"),
                              here().rests[static_cast<std::size_t>(part)], result);
  }
  return part == Part::kAttentionOutGradient ? reorder(what, result) : result;
}

/// What goes to other ranks is multiplied first, into one of two buffers, and read by them meanwhile; a kernel adds up
/// what has come.
Ids RankStep::multiply_and_send(Part part, const std::string& what, const Ids& in) {
  const std::int64_t bytes = activation_bytes() / tp_;
  const std::string all = prefix_ + what + " chunk";
  const std::string products = prefix_ + std::string(name_of(part)) + " chunk";
  constexpr std::size_t kBuffers = 2;
  const bool is_attention = part == Part::kAttentionOut || part == Part::kAttentionOutAgain;
  // The cast to float8 writes in any order.
  Ids ready = is_attention && !config_.is_float8() ? reorder(what, in) : in;
  if (here().rests[static_cast<std::size_t>(part)].bytes > 0) {
    ready = emitter_.compute(name(prefix_ + std::string(name_of(part)) + " rest"),
                             here().rests[static_cast<std::size_t>(part)], ready);
  }
  std::vector<Ids> sent;
  Ids come;
  for (std::int64_t i = 1; i < tp_; ++i) {
    const Ids free = sent.size() < kBuffers ? Ids{} : sent[sent.size() - kBuffers];
    const Ids received = emitter_.receive(name(all + std::to_string(i) + " receive"), tensor_rank(tp_ - i), chunk_tag_,
                                          bytes, emitter_.last_compute());
    const Ids product = emitter_.compute(name(products + std::to_string(i)),
                                         here().chunks[static_cast<std::size_t>(part)], joined({ready, free}));
    sent.push_back(emitter_.send(name(all + std::to_string(i) + " send"), Purpose::kTensorParallel, tensor_rank(i),
                                 chunk_tag_, bytes, product));
    come = joined({come, received});
    chunk_tag_ = (chunk_tag_ + 1) % kTags;
  }
  const Ids own = emitter_.compute(name(products + "0"), here().chunks[static_cast<std::size_t>(part)], ready);
  return emitter_.compute(name(prefix_ + what + " sum"), share_.copy(activation_bytes(), bytes), joined({own, come}));
}

}  // namespace weft::workloads
