// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/recommender/recommender.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sw/collectives/compressed/collectives.h"
#include "sw/firmware/contents.h"
#include "sw/firmware/program_fields.h"
#include "sw/schedules/finite_loss.h"
#include "sw/schedules/kernel_work.h"
#include "sw/schedules/step_ends.h"

namespace weft::schedules {

using firmware::Rank;
using firmware::Task;

namespace {

const firmware::ProgramFields kFieldsOfRecommender({"recommender", "sums of gradients"},
                                                   {"collectives.entry", "accelerator.dma.start"});

constexpr std::int64_t kFloats = 4;
constexpr std::int64_t kIndexBytes = 8;  // of a row
constexpr collectives::Carries kPerceptronGradients{ElementType::kFp32, compression::Traffic::kGradients};
constexpr std::uint64_t kKernelsEnded = 1;
constexpr std::uint64_t kGradientsSummed = 2;

models::Kernel moving(std::string_view name, std::int64_t read, std::int64_t written) {
  return {name, models::Elementwise{read, written, 1}};
}

void append_kernels(StageKernels& all, const std::vector<kfac::LayerKernel>& more) {
  for (const kfac::LayerKernel& kernel : more) all.emplace_back(kernel);
}

void append_kernels(StageKernels& all, const compression::Kernels& more) {
  for (const compression::Kernel& kernel : more) all.emplace_back(kernel);
}

}  // namespace

struct Recommender::Member {
  int index = 0;
  Rank* rank = nullptr;
  firmware::CompletionQueue* events = nullptr;
  std::unique_ptr<firmware::Counter> asked;  ///< sums of gradients that may begin
  std::uint64_t weights = 0;
  std::uint64_t gradients = 0;
  std::uint64_t tables = 0;
  // Of their own both ways: a peer may send gradients while this rank is at work on vectors.
  std::uint64_t vectors_sent = 0;
  std::uint64_t vectors_came = 0;
  std::uint64_t gradients_sent = 0;
  std::uint64_t gradients_came = 0;
  Numbers dense;
  Numbers targets;
  std::vector<Time> step_ends;
  Time exchanging;
  Time waiting;
  Probe* probe = nullptr;
  int track = 0;
};

Recommender::Recommender(std::vector<Rank*> ranks, const RecommenderConfig& config,
                         const collectives::Communicator::Config& collectives, std::int64_t seed)
    : ranks_(std::move(ranks)),
      shape_(config, static_cast<int>(ranks_.size())),
      data_(shape_, seed),
      compresses_(collectives.compression.on() || collectives.compression.of(compression::Traffic::kGradients).on()),
      exchanges_(std::make_unique<collectives::Communicator>(ranks_, collectives, "exchange of vectors")),
      sums_(std::make_unique<collectives::Communicator>(ranks_, collectives, "sum of gradients")),
      losses_(static_cast<std::size_t>(config.steps)) {
  exchanges_->check(dimensions::Operation::kAllToAll);
  sums_->check(dimensions::Operation::kAllReduce);
  plan();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Member& member = *members_.emplace_back(std::make_unique<Member>());
    member.index = static_cast<int>(i);
    member.rank = ranks_[i];
    member.events = &member.rank->processor->create_completion_queue("recommender, queue");
    member.asked = std::make_unique<firmware::Counter>(*member.rank->processor, "gradients to sum");
  }
  allocate();
}

Recommender::~Recommender() = default;

void Recommender::plan() {
  const RecommenderConfig& config = shape_.config;
  const std::int64_t batch = config.batch;
  const std::int64_t samples = batch * shape_.ranks;
  const std::int64_t of_tables = samples * shape_.vector_numbers;        // that a rank with tables has
  const std::int64_t of_samples = batch * config.tables * config.width;  // that a rank with samples has: as many
  const std::int64_t looked_up = of_tables * config.lookups;
  const std::int64_t indices = samples * shape_.own_tables * config.lookups * kIndexBytes;
  const auto choose = [&](StageKernels& all, std::int64_t numbers) {
    if (shape_.whole()) return;
    const std::int64_t pairs = samples * shape_.kept;
    // As top-k's: a radix select, and a pass that packs.
    for (int i = 0; i < 4; ++i) {
      all.emplace_back(compression::pass("compress.select", numbers, compression::kElement * numbers, 0, 2));
    }
    all.emplace_back(compression::pack_pairs(numbers, pairs, false));
  };
  const auto restore = [&](StageKernels& all, std::int64_t numbers) {
    if (!shape_.whole()) append_kernels(all, compression::scatter_kernels(numbers, samples * shape_.kept));
  };
  for (const models::Layer& layer : shape_.bottom) append_kernels(first_, kfac::forward_kernels(layer, batch));
  first_.emplace_back(moving("embedding.look_up", looked_up * kFloats + indices, of_tables * kFloats));
  choose(first_, of_tables);

  restore(second_, of_samples);
  const models::Gemm pairs{
      .batch = batch, .m = shape_.vectors, .n = shape_.vectors, .k = config.width, .element_bytes = 4};
  const models::Gemm back{
      .batch = batch, .m = shape_.vectors, .n = config.width, .k = shape_.vectors, .element_bytes = 4};
  const std::int64_t squares = batch * shape_.vectors * shape_.vectors * kFloats;
  const std::int64_t joined = batch * (config.width + shape_.interactions) * kFloats;
  second_.emplace_back(models::Kernel{"interaction", pairs});
  second_.emplace_back(moving("interaction.join", squares, joined));
  for (const models::Layer& layer : shape_.top) append_kernels(second_, kfac::forward_kernels(layer, batch));
  for (std::size_t l = shape_.top.size(); l-- > 0;) {
    append_kernels(second_, kfac::backward_kernels(shape_.top[l], batch, false));
  }
  second_.emplace_back(moving("interaction.part", joined, squares));
  second_.emplace_back(models::Kernel{"interaction.grad", back});
  choose(second_, of_samples);
  for (std::size_t l = shape_.bottom.size(); l-- > 0;) {
    append_kernels(second_, kfac::backward_kernels(shape_.bottom[l], batch, l == 0));
  }

  restore(third_, of_tables);
  third_.emplace_back(moving("embedding.update", (of_tables + looked_up) * kFloats + indices, looked_up * kFloats));
  for (const auto* layers : {&shape_.bottom, &shape_.top}) {
    for (const models::Layer& layer : *layers) append_kernels(update_, kfac::update_kernels(layer));
  }
}

void Recommender::allocate() {
  const auto numbers = [](std::int64_t count) { return static_cast<std::uint64_t>(count * kFloats); };
  const std::uint64_t weights = allocate_together(ranks_, "weights of perceptrons", numbers(shape_.parameters));
  const std::uint64_t gradients = allocate_together(ranks_, "gradients of perceptrons", numbers(shape_.parameters));
  allocate_together(ranks_, "momentum of perceptrons", numbers(shape_.parameters));
  const std::uint64_t tables = allocate_together(ranks_, "embedding tables", numbers(shape_.table_numbers()));
  const auto message = [this](const char* what) { return allocate_together(ranks_, what, shape_.exchange_bytes()); };
  const std::uint64_t vectors_sent = message("vectors that are sent");
  const std::uint64_t vectors_came = message("vectors that come");
  const std::uint64_t gradients_sent = message("gradients of vectors that are sent");
  const std::uint64_t gradients_came = message("gradients of vectors that come");
  for (const auto& member : members_) {
    member->weights = weights;
    member->gradients = gradients;
    member->tables = tables;
    member->vectors_sent = vectors_sent;
    member->vectors_came = vectors_came;
    member->gradients_sent = gradients_sent;
    member->gradients_came = gradients_came;
    if (member->rank->store == nullptr) continue;
    store_to(*member->rank, weights, data_.weights());
    store_to(*member->rank, tables, data_.tables(member->index));
    member->dense = data_.dense(member->index);
    member->targets = data_.targets(member->index);
  }
}

void Recommender::record(Probe& probe, int ranks) {
  for (const auto& member : members_) {
    if (member->index >= ranks) continue;
    member->probe = &probe;
    member->track = probe.add_track("accelerator " + std::to_string(member->rank->place), "recommender");
  }
}

void Recommender::start() {
  started_ = ranks_.front()->processor->now();
  for (const auto& member : members_) {
    member->rank->processor->spawn("recommender", 0, run(*member));
    member->rank->processor->spawn("sums of gradients", 1, sum_gradients(*member));
  }
}

void Recommender::submit(Member& member, const StageKernels& kernels) {
  const accelerator::ComputeConfig& compute = member.rank->accelerator.compute();
  for (const StageKernel& kernel : kernels) {
    member.rank->accelerator.submit(kernel_command(kComputeStream, label_of(kernel), stage_work(compute, kernel)));
  }
  member.rank->accelerator.notify(kComputeStream, *member.events, kKernelsEnded);
}

void Recommender::draw(Member& member, const char* what, Time from) {
  if (member.probe == nullptr) return;
  member.probe->slice(member.track, {.what = what, .from = from, .to = member.rank->processor->now()});
}

Task Recommender::sum_gradients(Member& member) {
  const auto bytes = static_cast<std::uint64_t>(shape_.parameters * kFloats);
  for (int step = 0; step < shape_.config.steps; ++step) {
    co_await member.asked->reach(static_cast<std::uint64_t>(step) + 1);
    co_await sums_->all_reduce(member.index, member.gradients, bytes, ElementType::kFp32, kPerceptronGradients);
    member.events->signal(kGradientsSummed);
  }
}

Task Recommender::run(Member& member) {
  firmware::Processor& processor = *member.rank->processor;
  const bool real = member.rank->store != nullptr;
  for (int step = 0; step < shape_.config.steps; ++step) {
    Time from = processor.now();
    submit(member, first_);
    static_cast<void>(co_await member.events->next());
    if (real) look_up_all(member);
    draw(member, "look up, bottom", from);

    from = processor.now();
    co_await exchanges_->all_to_all(member.index, member.vectors_sent, member.vectors_came, shape_.exchange_bytes(),
                                    vectors());
    member.exchanging = processor.now() - from;
    draw(member, "vectors", from);

    from = processor.now();
    submit(member, second_);
    static_cast<void>(co_await member.events->next());
    if (real) pass_all(member, step);
    draw(member, "interaction, top, gradients", from);

    from = processor.now();
    member.asked->increment();
    co_await exchanges_->all_to_all(member.index, member.gradients_sent, member.gradients_came, shape_.exchange_bytes(),
                                    vectors());
    member.exchanging += processor.now() - from;
    draw(member, "gradients of vectors", from);

    from = processor.now();
    submit(member, third_);
    bool summed = false;
    bool updated = false;
    while (!updated) {
      const bool is_sum = (co_await member.events->next()).id == kGradientsSummed;
      (is_sum ? summed : updated) = true;
    }
    if (real) take_gradients(member);
    draw(member, "update of rows", from);

    from = processor.now();
    if (!summed) static_cast<void>(co_await member.events->next());
    member.waiting = processor.now() - from;
    draw(member, "wait for sums", from);
    submit(member, update_);
    static_cast<void>(co_await member.events->next());
    if (real) update(member);
    member.step_ends.push_back(processor.now());
  }
}

void Recommender::look_up_all(Member& member) {
  const Numbers tables = firmware::load_from(*member.rank, member.tables, shape_.table_numbers());
  const std::vector<std::byte> sent = exchanged(shape_, look_up(shape_, data_, member.index, tables));
  member.rank->store->write(member.vectors_sent, sent.data(), sent.size());
}

void Recommender::pass_all(Member& member, int step) {
  std::vector<std::byte> came(shape_.exchange_bytes());
  member.rank->store->read(member.vectors_came, came.data(), came.size());
  const Numbers weights = firmware::load_from(*member.rank, member.weights, shape_.parameters);
  const DlrmPass pass = pass_through(shape_, weights, member.dense, restored(shape_, came), member.targets);
  losses_[static_cast<std::size_t>(step)] += pass.loss;
  expect_finite_loss(losses_, static_cast<std::size_t>(step), shape_.config.rate);
  store_to(*member.rank, member.gradients, pass.weight_gradients);
  const std::vector<std::byte> sent = exchanged(shape_, pass.vector_gradients);
  member.rank->store->write(member.gradients_sent, sent.data(), sent.size());
}

void Recommender::take_gradients(Member& member) {
  std::vector<std::byte> came(shape_.exchange_bytes());
  member.rank->store->read(member.gradients_came, came.data(), came.size());
  Numbers tables = firmware::load_from(*member.rank, member.tables, shape_.table_numbers());
  update_tables(shape_, data_, member.index, restored(shape_, came), tables);
  store_to(*member.rank, member.tables, tables);
}

void Recommender::update(Member& member) {
  Numbers weights = firmware::load_from(*member.rank, member.weights, shape_.parameters);
  const Numbers sums = firmware::load_from(*member.rank, member.gradients, shape_.parameters);
  const auto rate = static_cast<float>(shape_.config.rate);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= rate * sums[i];
  store_to(*member.rank, member.weights, weights);
}

double Recommender::progress() const {
  std::size_t done = 0;
  for (const auto& member : members_) done += member->step_ends.size();
  return static_cast<double>(done) / static_cast<double>(members_.size() * losses_.size());
}

std::vector<Time> Recommender::step_ends() const {
  return ends_of_all(members_, [](const auto& member) -> const std::vector<Time>& { return member->step_ends; });
}

collectives::Carries Recommender::vectors() const {
  if (shape_.whole()) return {ElementType::kFp32};
  return {};
}

std::vector<std::string> Recommender::remarks() const {
  std::vector<std::string> lines;
  for (const auto& group : {exchanges_.get(), sums_.get()}) {
    const std::string remark = group->remark();
    if (!remark.empty() && std::find(lines.begin(), lines.end(), remark) == lines.end()) lines.push_back(remark);
  }
  return lines;
}

collectives::CompressedAmount Recommender::compressed() const {
  collectives::CompressedAmount amount;
  for (const auto& group : {exchanges_.get(), sums_.get()}) amount.add(*group);
  return amount;
}

std::uint64_t Recommender::exchange_sent() const {
  if (ranks_.size() == 1) return 0;
  const std::uint64_t bytes = shape_.exchange_bytes();
  const collectives::CompressedCollectives* compressed =
      exchanges_->compressed(dimensions::Operation::kAllToAll, vectors(), bytes);
  if (compressed == nullptr) return bytes / ranks_.size() * (ranks_.size() - 1);
  return compressed->sent(0) / (2 * losses_.size());
}

std::uint64_t Recommender::gradient_bytes() const {
  const auto bytes = static_cast<std::uint64_t>(shape_.parameters * kFloats);
  const collectives::CompressedCollectives* compressed =
      sums_->compressed(dimensions::Operation::kAllReduce, kPerceptronGradients, bytes);
  if (ranks_.size() == 1) return 0;
  if (compressed == nullptr) return bytes;
  const std::uint64_t sent = compressed->sent(0) / losses_.size();
  if (!compressed->hops()) return sent;
  // Of hops, each with a part of the message: the message as they have it on the mean.
  const std::uint64_t ranks = ranks_.size();
  return sent * ranks / (2 * (ranks - 1));
}

/// Elements of weights and tables that are not those of the same training without a machine, but for the order in which
/// ranks' gradients are added up. Where these are compressed, ranks' weights alone are compared with each other.
std::int64_t Recommender::wrong() const {
  std::int64_t wrong = 0;
  const auto compare = [&wrong](const Numbers& found, const Numbers& right, double tolerance) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!std::isfinite(found[i]) && !std::isfinite(right[i])) continue;  // the last update has diverged in both
      wrong += std::abs(double{found[i]} - double{right[i]}) <= tolerance * (1 + std::abs(double{right[i]})) ? 0 : 1;
    }
  };
  const auto weights_of = [this](const Member& member) {
    return firmware::load_from(*member.rank, member.weights, shape_.parameters);
  };
  if (compresses_) {
    for (const auto& member : members_) compare(weights_of(*member), weights_of(*members_.front()), 0);
    return wrong;
  }
  constexpr double kOrder = 1e-4;
  const auto ranks = static_cast<std::size_t>(shape_.ranks);
  Numbers weights = data_.weights();
  std::vector<Numbers> tables;
  for (std::size_t r = 0; r < ranks; ++r) tables.push_back(data_.tables(static_cast<std::int64_t>(r)));
  // Parts of what all ranks have for each other go over.
  const auto exchange = [&](const std::vector<std::vector<std::byte>>& sent) {
    const std::size_t part = sent.front().size() / ranks;
    std::vector<std::vector<std::byte>> came(ranks);
    for (std::size_t to = 0; to < ranks; ++to) {
      for (std::size_t from = 0; from < ranks; ++from) {
        const auto at = sent[from].begin() + static_cast<std::ptrdiff_t>(to * part);
        came[to].insert(came[to].end(), at, at + static_cast<std::ptrdiff_t>(part));
      }
    }
    return came;
  };
  for (int step = 0; step < shape_.config.steps; ++step) {
    std::vector<std::vector<std::byte>> vectors;
    for (std::size_t r = 0; r < ranks; ++r) {
      vectors.push_back(exchanged(shape_, look_up(shape_, data_, static_cast<std::int64_t>(r), tables[r])));
    }
    vectors = exchange(vectors);
    Numbers sums(weights.size());
    std::vector<std::vector<std::byte>> gradients;
    for (std::size_t r = 0; r < ranks; ++r) {
      const Member& member = *members_[r];
      const DlrmPass pass = pass_through(shape_, weights, member.dense, restored(shape_, vectors[r]), member.targets);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += pass.weight_gradients[i];
      gradients.push_back(exchanged(shape_, pass.vector_gradients));
    }
    gradients = exchange(gradients);
    for (std::size_t r = 0; r < ranks; ++r) {
      update_tables(shape_, data_, static_cast<std::int64_t>(r), restored(shape_, gradients[r]), tables[r]);
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= static_cast<float>(shape_.config.rate) * sums[i];
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    compare(weights_of(*members_[r]), weights, kOrder);
    compare(firmware::load_from(*members_[r]->rank, members_[r]->tables, shape_.table_numbers()), tables[r], kOrder);
  }
  return wrong;
}

RecommenderResult Recommender::result() const {
  RecommenderResult result;
  Time before = started_;
  for (const Time end : step_ends()) {
    result.steps.push_back(end - before);
    before = end;
  }
  if (!result.steps.empty()) result.step_time = result.steps.back();
  result.exchanging = members_.front()->exchanging;
  result.waiting_gradients = members_.front()->waiting;
  if (ranks_.front()->store == nullptr) return result;
  result.losses = losses_;
  result.wrong = wrong();
  result.compared =
      compresses_ ? shape_.parameters * shape_.ranks : (shape_.parameters + shape_.table_numbers()) * shape_.ranks;
  return result;
}

}  // namespace weft::schedules
