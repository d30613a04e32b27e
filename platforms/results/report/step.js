// What the step takes, what it goes to, and the collectives.

function colourOfPart(key) {
  if (/^not_computing$/.test(key)) return 'waiting';
  if (/pack|copies|offload/.test(key)) return 'copying';
  if (/^exposed_|comm|reduce|gather|broadcast|all_to_all|messages/.test(key)) return 'network';
  if (/^(compute|computing|ff_bp|precondition)|comp$/.test(key)) return 'computing';
  return 'other';
}

/** As weft run prints them. */
const partNames = {
  ff_bp: 'FF&BP', grad_comm: 'GradComm', factor_comp: 'FactorComp', factor_comm: 'FactorComm',
  factor_packing: 'FactorPacking', inverse_comp: 'InverseComp', inverse_comm: 'InverseComm',
  inverse_packing: 'InversePacking', exposed_reduce_scatter: 'exposed reduce-scatter',
  exposed_all_reduce: 'exposed all-reduce', exposed_all_to_all: 'exposed all-to-all',
};

/** Of an analytical network, whose ends overlap their communication with computing. */
function partsOfEnds(run) {
  const mean = isObject(run.statistics) && isObject(run.statistics.mean) ? run.statistics.mean : null;
  if (!mean || !isNumber(mean.finish_ns) || !isNumber(mean.exposed_communication_ns)) return {};
  const [whole, exposed, computing] = [mean.finish_ns, mean.exposed_communication_ns, mean.computing_ns || 0];
  return {computing: computing / 1e3, exposed_communication: exposed / 1e3,
    other: Math.max(whole - computing - exposed, 0) / 1e3};
}

function stepRows(run) {
  const parts = isObject(run.breakdown_us) ? run.breakdown_us : partsOfEnds(run);
  return Object.entries(parts)
    .filter(([key, value]) => key !== 'total' && isNumber(value) && value > 0)
    .map(([key, value]) => ({name: partNames[key] || words(key), value, colour: colourOfPart(key)}));
}

const stepTime = (run) => [run.step_time_us, run.simulated_us, run.last_finish_ns / 1e3].find(isNumber);

function headline() {
  const whole = stepTime(summary);
  const rows = stepRows(summary).sort((a, b) => b.value - a.value);
  let text = (isNumber(summary.step_time_us) ? 'A step takes ' : 'The run takes ') + time(whole) + '.';
  const top = rows.filter((row) => row.value / whole >= 0.01).slice(0, 3);
  if (top.length > 0) {
    text += ' ' + top.map((row, index) => percent(row.value / whole) + (index === 0 ? ' of it is ' : ' is ') + row.name)
      .join(', ') + '.';
  }
  return text;
}

/** What a run is first asked for: [name, value, format]. */
function figures(run) {
  const energy = isObject(run.energy) ? run.energy : {};
  const memory = isObject(run.memory) ? run.memory : {};
  return [
    [isNumber(run.step_time_us) ? 'Step' : 'Run', stepTime(run), time],
    ['Accelerators', run.accelerators, count],
    ['Ends', run.ends, count],
    ['Tokens/s per GPU', run.tokens_per_s_per_gpu, count],
    ['Samples/s', run.samples_per_s, count],
    ['TFLOPS per GPU', run.tflops_per_gpu, digits],
    ['MFU', run.mfu, percent],
    ['Energy', energy.total_j, joules],
    ['Mean power', energy.power_mean_w, watts],
    ['Memory used', memory.allocated_bytes_max, bytes],
  ].filter(([, value]) => isNumber(value));
}

section('headline', 'In short', () => [
  element('p', {class: 'headline'}, headline()),
  results.why_words ? element('p', {}, results.why_words) : null,
  summary.partial ? element('p', {}, 'The run was ended early; figures are of what had finished.') : null,
  element('dl', {class: 'tiles'}, figures(summary).map(([name, value, format]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, format(value))))),
]);

if (Array.isArray(summary.warnings) && summary.warnings.length > 0) {
  section('warnings', 'Warnings', () => [element('ul', {}, summary.warnings.map((line) => element('li', {}, line)))]);
}

section('step', 'Where the time goes', () => {
  const rows = stepRows(summary);
  if (rows.length === 0) return null;
  const content = [
    stack('Parts of the time', rows, time), legend(new Set(rows.map((row) => row.colour))),
    barTable('Parts of the step: the mean over accelerators where these differ', rows, time, stepTime(summary)),
  ];
  if (isObject(summary.kernels) && isNumber(summary.kernels.longer_us)) {
    content.push(element('p', {class: 'note'}, 'Kernels take ' + time(summary.kernels.time_us) + ', of it ' +
      time(summary.kernels.longer_us) + ' because of what runs beside them.'));
  }
  return content;
});

/** By kind, or message by message of second-order training. */
function collectives() {
  if (Array.isArray(summary.collectives_of_rank_0)) return summary.collectives_of_rank_0.filter(isObject);
  if (!Array.isArray(summary.messages)) return [];
  return summary.messages.filter(isObject).map((message) => ({
    name: message.name,
    operation: message.root === null ? 'all_reduce' : 'broadcast',
    ranks: summary.accelerators,
    count: 1,
    bytes: message.bytes,
    time_us: message.to_us - message.from_us,
    exposed_us: message.exposed_us,
  }));
}

/** By NCCL's convention: bytes over the time, times what a ring sends for each byte. */
function busBandwidth(row) {
  const ofRing = (row.ranks - 1) / row.ranks;
  const factors = {all_reduce: 2 * ofRing, all_gather: ofRing, reduce_scatter: ofRing, all_to_all: ofRing};
  const factor = row.operation in factors ? factors[row.operation] : 1;
  return row.time_us > 0 && isNumber(row.bytes) ? row.count * row.bytes * factor / (row.time_us * 1e-6) : null;
}

section('collectives', 'Collectives', () => {
  const rows = collectives();
  if (rows.length === 0) return null;
  const columns = [
    {title: 'Operation', value: (row) => row.operation.replace(/_/g, '-')},
    {title: 'Ranks', number: true, value: (row) => row.ranks, text: (row) => count(row.ranks)},
    {title: 'Count', number: true, value: (row) => row.count, text: (row) => count(row.count)},
    {title: 'Bytes', number: true, value: (row) => row.bytes, text: (row) => bytes(row.bytes)},
    {title: 'Mean time', number: true, value: (row) => row.time_us / row.count, text: (row) => time(row.time_us / row.count)},
    {title: 'Bus bandwidth', number: true, value: busBandwidth, text: (row) => rate(busBandwidth(row))},
  ];
  const isNamed = rows.some((row) => typeof row.name === 'string');
  if (isNamed) {
    columns.unshift({title: 'Message', value: (row) => row.name});
    columns.push({title: 'Exposed', number: true, value: (row) => row.exposed_us, text: (row) => time(row.exposed_us)});
  } else {
    columns.push({title: 'Time of all', number: true, value: (row) => row.time_us, text: (row) => time(row.time_us)});
  }
  return [
    ...sortable('collectives-table', 'Collectives of rank 0, bytes of one', columns, rows, isNamed ? 5 : 6),
    element('p', {class: 'note'}, 'Bus bandwidth is that of NCCL\'s tests: bytes over time, times 2(n-1)/n for an ' +
      'all-reduce and (n-1)/n for all-gather, reduce-scatter and all-to-all. The time is from the request to the ' +
      'completion, waiting for other ranks and for a turn included.'),
  ];
});
