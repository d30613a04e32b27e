// Memory, energy, and the roofline of kernels.

section('memory', 'Memory', () => {
  const content = [];
  const memory = isObject(summary.memory) ? summary.memory : {};
  const used = Object.entries(isObject(summary.accelerator_memory_bytes) ? summary.accelerator_memory_bytes : {})
    .filter(([, value]) => isNumber(value)).map(([name, value]) => ({name, value, colour: 'memory'}))
    .sort((a, b) => b.value - a.value);
  if (used.length > 0) {
    content.push(barTable('What an accelerator\'s memory is planned for' +
      (isNumber(memory.capacity_bytes) ? ', as a share of its ' + bytes(memory.capacity_bytes) : ''), used, bytes,
    memory.capacity_bytes));
  }
  if (isNumber(memory.allocated_bytes_max) && isNumber(memory.capacity_bytes)) {
    content.push(element('p', {class: 'note'}, 'The fullest accelerator has ' + bytes(memory.allocated_bytes_max) +
      ' allocated, ' + percent(memory.allocated_bytes_max / memory.capacity_bytes) + ' of its memory.' +
      (used.length > 0 ? ' Not all that is planned is there at the same time.' : '')));
  }
  const colours = {compute: 'computing', copy: 'copying', nic: 'network', port: 'network', remote: 'memory'};
  const masters = {compute: 'kernels', copy: 'copy engines', nic: 'NIC', port: 'scale-up port', remote: 'remote memory'};
  const shares = Object.entries(isObject(memory.by_master) ? memory.by_master : {})
    .filter(([, value]) => isObject(value) && isNumber(value.mean))
    .map(([name, value]) => ({name: masters[name] || words(name), value: value.mean, colour: colours[name] || 'other'}));
  if (shares.length > 0) {
    content.push(element('h3', {}, 'Who keeps HBM busy'), legend(new Set(shares.map((row) => row.colour))),
      barTable('Share of the time for which each occupies it, the mean over accelerators', shares, percent));
  }
  return content;
});

section('energy', 'Energy', () => {
  const energy = isObject(summary.energy) ? summary.energy : {};
  if (!isNumber(energy.total_j) || !isObject(energy.by_kind_j)) return null;
  const colours = {compute: 'computing', hbm: 'memory', links: 'network', switches: 'network', nics: 'network'};
  const drawers = {hbm: 'HBM', nics: 'NICs'};
  const rows = Object.entries(energy.by_kind_j).filter(([, value]) => isNumber(value))
    .map(([name, value]) => ({name: drawers[name] || words(name), value, colour: colours[name] || 'other'}));
  const content = [
    element('p', {}, joules(energy.total_j) + ' in all, ' + watts(energy.power_mean_w) + ' on average' +
      (isNumber(energy.accelerator_power_mean_w) ? ', ' + watts(energy.accelerator_power_mean_w) +
        ' of each accelerator.' : '.')),
    stack('Energy', rows, joules), legend(new Set(rows.map((row) => row.colour))),
    barTable('Energy by what draws it; idle is what parts draw all the time', rows, joules, energy.total_j),
  ];
  if (Array.isArray(energy.without_figures) && energy.without_figures.length > 0) {
    content.push(element('p', {class: 'note'}, 'Without figures: ' + energy.without_figures.join(', ') + '.'));
  }
  return content;
});

function kernelsOfRoofline() {
  const table = isObject(summary.roofline) ? summary.roofline : {};
  if (!Array.isArray(table.kernels)) return [];
  return table.kernels.filter((kernel) => isObject(kernel) && isNumber(kernel.time_us) && kernel.time_us > 0)
    .map((kernel) => {
      const known = isNumber(kernel.flops) && kernel.flops > 0 && kernel.hbm_bytes > 0;
      const reached = known ? kernel.flops / (kernel.time_us * 1e-6) : null;
      const intensity = known ? kernel.flops / kernel.hbm_bytes : null;
      const moved = kernel.hbm_bytes / (kernel.time_us * 1e-6);
      const bound = known ? Math.min(table.tensor_16bit_flops, intensity * table.hbm_bytes_per_s) : null;
      const byMemory = known ? intensity * table.hbm_bytes_per_s < table.tensor_16bit_flops
        : moved > table.hbm_bytes_per_s / 2;
      return {...kernel, reached, intensity, moved, bound, colour: byMemory ? 'memory' : 'computing'};
    });
}

function rooflineChart(all, table) {
  const kernels = all.filter((kernel) => kernel.reached !== null);
  if (kernels.length === 0) return null;
  const figure = element('figure', {});
  const told = element('p', {class: 'told', 'aria-live': 'polite'},
    'Point at a kernel, or go to it by the tab and arrow keys, to read it.');
  const peak = Math.max(table.tensor_16bit_flops, ...kernels.map((kernel) => kernel.reached));
  const ridge = table.tensor_16bit_flops / table.hbm_bytes_per_s;
  const svg = d3.select(figure).append('svg').attr('role', 'group')
    .attr('aria-label', 'Roofline: rate of each kernel against its operations for a byte of HBM, both logarithmic');
  const whole = d3.sum(all, (kernel) => kernel.time_us);
  const describe = (kernel) => kernel.name + ': ' + operations(kernel.reached) + ' at ' + digits(kernel.intensity) +
    ' FLOP/B, ' + percent(kernel.reached / kernel.bound) + ' of the roof, ' + percent(kernel.time_us / whole) +
    ' of the kernels\' time';
  let at = 0;
  function draw() {
    const width = Math.max(figure.clientWidth, 240);
    const height = Math.min(380, Math.max(260, width * 0.5));
    const [left, bottom] = [64, 44];
    svg.attr('width', width).attr('height', height).selectAll('*').remove();
    const xs = [d3.min(kernels, (kernel) => kernel.intensity), d3.max(kernels, (kernel) => kernel.intensity), ridge];
    const x = d3.scale.log().domain([d3.min(xs) / 2, d3.max(xs) * 3]).range([left, width - 12]);
    const y = d3.scale.log().domain([d3.min(kernels, (kernel) => kernel.reached) / 3, peak * 2]).range([height - bottom, 8]);
    const decades = (scale) => {
      const [low, high] = scale.domain();
      const powers = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))).map((power) => Math.pow(10, power));
      const steps = high / low < 1000 ? [1, 2, 5] : [1];
      return powers.flatMap((power) => steps.map((step) => step * power)).filter((value) => value >= low && value <= high);
    };
    svg.append('g').attr('class', 'axis').attr('transform', 'translate(0,' + (height - bottom) + ')')
      .call(d3.svg.axis().scale(x).orient('bottom').tickValues(decades(x)).tickFormat(digits).outerTickSize(0));
    svg.append('g').attr('class', 'axis').attr('transform', 'translate(' + left + ',0)')
      .call(d3.svg.axis().scale(y).orient('left').tickValues(decades(y)).outerTickSize(0)
        .tickFormat((value) => operations(value).replace('FLOPS', '')));
    svg.append('text').attr('class', 'quiet').attr('x', width - 12).attr('y', height - 6).attr('text-anchor', 'end')
      .text('operations for a byte of HBM');
    svg.append('text').attr('class', 'quiet').attr('x', left + 8).attr('y', 18).text('FLOPS of an accelerator');
    const roof = (top) => {
      const from = Math.max(x.domain()[0], y.domain()[0] / table.hbm_bytes_per_s);
      const corner = Math.min(Math.max(top / table.hbm_bytes_per_s, from), x.domain()[1]);
      return 'M' + x(from) + ',' + y(Math.min(from * table.hbm_bytes_per_s, top)) + 'L' + x(corner) + ',' + y(top) +
        'H' + x(x.domain()[1]);
    };
    svg.append('path').attr('class', 'ceiling').attr('d', roof(table.tensor_16bit_flops));
    const ceiling = (value, name, kind) => {
      if (!(value > y.domain()[0])) return;
      if (kind) svg.append('path').attr('class', 'ceiling second').attr('d', 'M' + x(Math.min(Math.max(value /
        table.hbm_bytes_per_s, x.domain()[0]), x.domain()[1])) + ',' + y(value) + 'H' + x(x.domain()[1]));
      svg.append('text').attr('class', 'quiet').attr('text-anchor', 'end').attr('x', width - 12).attr('y', y(value) - 5)
        .text(name + ' ' + operations(value));
    };
    ceiling(table.tensor_16bit_flops, 'tensor cores, 16 bits,');
    ceiling(table.vector_fp32_flops, 'vector units, 32 bits,', 'second');
    svg.selectAll('circle').data(kernels).enter().append('circle')
      .attr('class', (kernel) => 'dot c-' + kernel.colour)
      .attr('cx', (kernel) => x(kernel.intensity)).attr('cy', (kernel) => y(kernel.reached))
      .attr('r', (kernel) => 4 + 18 * Math.sqrt(kernel.time_us / whole))
      .attr('role', 'img').attr('aria-label', describe).attr('tabindex', (kernel, index) => (index === at ? 0 : -1))
      .on('focus', (kernel) => { told.textContent = describe(kernel); })
      .on('mouseenter', (kernel) => { told.textContent = describe(kernel); })
      .on('keydown', () => {
        const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[d3.event.key];
        if (!by) return;
        d3.event.preventDefault();
        at = (at + by + kernels.length) % kernels.length;
        svg.selectAll('circle').attr('tabindex', (kernel, index) => (index === at ? 0 : -1))
          .filter((kernel, index) => index === at).node().focus();
      });
  }
  window.addEventListener('resize', draw);
  requestAnimationFrame(draw);
  figure.append(told);
  return figure;
}

section('kernels', 'Kernels', () => {
  const kernels = kernelsOfRoofline();
  if (kernels.length === 0) return null;
  const table = summary.roofline;
  const chart = rooflineChart(kernels, table);
  const whole = d3.sum(kernels, (kernel) => kernel.time_us);
  const uncounted = kernels.filter((kernel) => kernel.reached === null);
  return [
    chart ? element('p', {}, 'A dot is as large as its kernels\' share of the time. Under the slope HBM bounds a kernel, ' +
      'under the flat part its arithmetic does.')
      : element('p', {}, 'Nobody has counted the operations of these kernels: they come from traces.'),
    chart,
    chart ? element('ul', {class: 'legend', 'aria-label': 'Colours'},
      element('li', {}, element('span', {class: 'swatch c-computing'}), 'bound by computing'),
      element('li', {}, element('span', {class: 'swatch c-memory'}), 'bound by memory')) : null,
    chart && uncounted.length > 0 ? element('p', {class: 'note'}, 'Kernels whose operations nobody has counted, ' +
      percent(d3.sum(uncounted, (kernel) => kernel.time_us) / whole) + ' of the time, are in the table alone.') : null,
    ...sortable('kernels-table', 'Kernels of all accelerators', [
      {title: 'Kernel', value: (kernel) => kernel.name},
      {title: 'Count', number: true, value: (kernel) => kernel.count, text: (kernel) => count(kernel.count)},
      {title: 'Mean time', number: true, value: (kernel) => kernel.time_us / kernel.count, text: (kernel) => time(kernel.time_us / kernel.count)},
      {title: 'Share', number: true, value: (kernel) => kernel.time_us, text: (kernel) => percent(kernel.time_us / whole)},
      {title: 'FLOP/B', number: true, value: (kernel) => kernel.intensity, text: (kernel) => (kernel.intensity === null ? '' : digits(kernel.intensity))},
      {title: 'Rate', number: true, value: (kernel) => kernel.reached, text: (kernel) => operations(kernel.reached)},
      {title: 'HBM', number: true, value: (kernel) => kernel.moved, text: (kernel) => rate(kernel.moved)},
      {title: 'Of the roof', number: true, value: (kernel) => (kernel.bound ? kernel.reached / kernel.bound : null),
        text: (kernel) => (kernel.bound ? percent(kernel.reached / kernel.bound) : '')},
    ], kernels, 3),
  ].filter((node) => node !== null);
});
