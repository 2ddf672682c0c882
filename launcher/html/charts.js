// SPDX-License-Identifier: GPL-3.0-or-later
/* Bars, matrices and curves. */
'use strict';

/* parts: [colour of the style sheet, value, what it is] */
function bar(parts, whole) {
	const box = element('div', { className: 'bar' });

	for (const [color, value, what] of parts) {
		const i = element('i', { title: `${what} ${time(value)} (${percent(value, whole)})` });

		i.style.background = color.startsWith('hsl') ? color : `var(--${color})`;
		i.style.width = 100 * value / (whole || 1) + '%';
		box.append(i);
	}
	return box;
}

/* max/mean - 1 */
function imbalance(values) {
	const sum = values.reduce((a, b) => a + b, 0);

	return sum ? Math.max(...values) * values.length / sum - 1 : 0;
}

/* [rank, pid, tid, name, whole, wait, apart, [[function, module, self], ...]] */
function threadBars(data, colors) {
	const box = $('threads'), select = $('threads-what'), functions = new Map();

	for (const thread of data.bars)
		for (const [name, , self] of thread[7])
			functions.set(name, (functions.get(name) || 0) + self);
	const names = [...functions].sort((a, b) => b[1] - a[1]).slice(0, 200).map(f => f[0]);
	select.append(element('option', { value: '', textContent: 'work and waiting' }));
	for (const name of names)
		select.append(element('option', { value: String(name), textContent: data.names[name] }));

	const show = () => {
		const name = select.value === '' ? null : Number(select.value);
		const of = thread => thread[7].reduce((sum, f) => f[0] === name ? sum + f[2] : sum, 0);
		const values = data.bars.map(t => name === null ? Math.max(0, t[4] - t[5] - t[6]) : of(t));
		const whole = name === null ? Math.max(1, ...data.bars.map(t => t[4])) : Math.max(1, ...values);

		$('threads-note').textContent = `Imbalance (max / mean \u2212 1) of ${name === null ? 'time without waiting' : 'own time in ' +
			data.names[name]}: ${(100 * imbalance(values)).toFixed(1)}%`;
		box.replaceChildren(...data.bars.map((t, i) => {
			const text = (t[0] >= 0 ? `rank ${t[0]}, ` : '') + `${t[3] || 'thread'} ${t[2]}`;
			const parts = name !== null ? [[colors.name(name), values[i], data.names[name]]] :
				[['work', values[i], 'work'], ['wait', t[5], 'waiting'], ['apart', t[6], 'apart']];

			return element('div', { className: 'row' }, element('span', { textContent: text, title: text }), bar(parts, whole),
				       element('span', { textContent: time(name === null ? t[4] : values[i]) }));
		}));
	};
	select.addEventListener('change', show);
	show();
}

/* [kind, place, schedule, count, threads, time, team, work, barriers, locks, tasks, idle, imbalance, chunks] */
function openmp(data) {
	const kinds = ['region', 'loop', 'task'], figure = (title, at) => ({ title, value: r => r[at], text: r => time(r[at]) });

	return new SortedTable($('omp'), [
		{ title: 'what', left: true, value: r => kinds[r[0]] + r[1], text: r => `${kinds[r[0]]} ${base(r[1])}${r[2] ? ', ' + r[2] : ''}` },
		{ title: 'count', value: r => r[3], text: r => count(r[3]) },
		{ title: 'threads', value: r => r[4], text: r => String(r[4]) },
		figure('time', 5), figure('work', 7), figure('barriers', 8), figure('locks', 9), figure('tasks', 10), figure('idle', 11),
		{ title: 'imbalance', value: r => r[12], text: r => (100 * r[12]).toFixed(1) + '%', note: 'of work: max / mean \u2212 1' },
		{ title: 'team', value: r => r[6], cell: r => bar([['work', r[7], 'work'], ['wait', r[8] + r[9] + r[10], 'waiting'], ['idle', r[11], 'idle']], r[6]) },
	], data.omp, 3);
}

/* ---- MPI ---- */

function heat(share) {
	return `color-mix(in srgb, var(--message) ${Math.round(12 + 70 * share)}%, var(--back))`;
}

function matrix(data) {
	const pairs = data.mpi_pairs, ranks = 1 + Math.max(...pairs.map(p => Math.max(p[0], p[1]))), most = Math.max(1, ...pairs.map(p => p[3]));
	const text = p => `rank ${p[0]} to rank ${p[1]}: ${count(p[2])} messages, ${size(p[3])}`;

	if (ranks > 32)
		return largeMatrix(pairs, ranks, most, text);
	const cells = new Map(pairs.map(p => [p[0] * ranks + p[1], p])), numbers = [...Array(ranks).keys()];
	const table = element('table', { className: 'heat' });

	table.append(element('tr', {}, element('th', { textContent: 'from \\ to' }), ...numbers.map(n => element('th', { textContent: String(n) }))));
	for (const from of numbers)
		table.append(element('tr', {}, element('th', { textContent: String(from) }), ...numbers.map(to => {
			const p = cells.get(from * ranks + to), td = element('td', { textContent: p ? size(p[3]) : '' });

			if (p) {
				td.style.background = heat(p[3] / most);
				td.title = text(p);
				td.addEventListener('click', () => { $('matrix-detail').textContent = text(p); });
			}
			return td;
		})));
	$('matrix').replaceChildren(table);
}

function largeMatrix(pairs, ranks, most, text) {
	const canvas = element('canvas', { width: Math.min(1024, ranks * Math.max(1, Math.floor(640 / ranks))) }), cell = canvas.width / ranks;

	canvas.height = canvas.width;
	canvas.style.width = canvas.style.height = canvas.width + 'px';
	const c = canvas.getContext('2d');
	for (const p of pairs) {
		c.fillStyle = `hsl(262 45% 55% / ${0.15 + 0.85 * p[3] / most})`;
		c.fillRect(p[1] * cell, p[0] * cell, Math.max(1, cell), Math.max(1, cell));
	}
	canvas.addEventListener('click', event => {
		const from = Math.floor(event.offsetY / cell), to = Math.floor(event.offsetX / cell), p = pairs.find(q => q[0] === from && q[1] === to);

		$('matrix-detail').textContent = p ? text(p) : `rank ${from} to rank ${to}: nothing`;
	});
	$('matrix').replaceChildren(element('p', { className: 'hint', textContent: 'From above to below: who sends; from left to right: who receives.' }), canvas);
}

/* [rank, function, calls, time, sent, received, late sender, late receiver, barriers, collectives] */
function mpiCalls(data) {
	const figure = (title, at, note) => ({ title, note, value: r => r[at], text: r => r[at] ? time(r[at]) : '' });
	const bytes = (title, at) => ({ title, value: r => r[at], text: r => r[at] ? size(r[at]) : '' });

	return new SortedTable($('mpi-calls'), [
		{ title: 'function', left: true, value: r => data.names[r[1]], text: r => data.names[r[1]] },
		{ title: 'rank', value: r => r[0], text: r => String(r[0]) },
		{ title: 'calls', value: r => r[2], text: r => count(r[2]) },
		figure('time', 3), bytes('sent', 4), bytes('received', 5),
		figure('late sender', 6, 'a receive began before the send'), figure('late receiver', 7, 'a send began before the receive'),
		figure('barriers', 8), figure('collectives', 9),
	], data.mpi_calls, 3);
}

/* ---- memory ---- */

/* [name, file, line, accesses, bytes, loads, stores, seq, strided, random, footprint, [misses of each cache], [misses by size]] */
function memoryTable(data) {
	const figure = (title, at) => ({ title, value: r => r[at], text: r => count(Math.round(r[at])) });
	const share = (title, at) => ({ title, value: r => r[at], text: r => percent(r[at], r[7] + r[8] + r[9]) });
	const caches = data.memory_caches.map((bytes, i) => ({
		title: `L${i + 1} misses`, note: `of ${size(bytes)}`, value: r => r[11][i] === null ? -1 : r[11][i],
		text: r => r[11][i] === null ? 'not known' : percent(r[11][i], r[3]),
	}));

	return new SortedTable($('memory'), [
		{ title: 'loop', left: true, value: r => r[0], text: r => r[0] },
		figure('accesses', 3), { title: 'bytes', value: r => r[4], text: r => size(Math.round(r[4])) }, figure('loads', 5), figure('stores', 6),
		share('seq', 7), share('strided', 8), share('random', 9), { title: 'footprint', value: r => r[10], text: r => size(r[10]) }, ...caches,
	], data.memory, 2);
}

const SVG = 'http://www.w3.org/2000/svg';

function svg(tag, attributes, text) {
	const e = document.createElementNS(SVG, tag);

	for (const [name, value] of Object.entries(attributes))
		e.setAttribute(name, value);
	if (text)
		e.textContent = text;
	return e;
}

/* Curves: [name, accesses, misses for each size]; sizes in bytes. */
function curves(data, list) {
	const width = 900, height = 320, left = 50, right = 16, top = 10, low = 30, sizes = data.memory_sizes;
	const x = i => left + i / Math.max(1, sizes.length - 1) * (width - left - right), y = share => top + (1 - share) * (height - top - low);
	const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'miss ratio by cache size' });
	const legend = element('p');

	for (let share = 0; share <= 1; share += 0.25) {
		picture.append(svg('line', { x1: left, x2: width - right, y1: y(share), y2: y(share), stroke: 'var(--line)' }));
		picture.append(svg('text', { x: left - 6, y: y(share) + 4, 'text-anchor': 'end', 'font-size': 12, fill: 'var(--faint)' }, 100 * share + '%'));
	}
	sizes.forEach((bytes, i) => {
		if (i % 3 === 0)
			picture.append(svg('text', { x: x(i), y: height - 10, 'text-anchor': 'middle', 'font-size': 12, fill: 'var(--faint)' }, size(bytes)));
	});
	list.forEach(([name, accesses, misses], n) => {
		const color = n ? `hsl(${n * 67 % 360} 60% 50%)` : 'var(--text)';
		const points = misses.map((m, i) => m === null ? '' : `${x(i).toFixed(1)},${y(m / (accesses || 1)).toFixed(1)}`).join(' ');

		picture.append(svg('polyline', { points, fill: 'none', stroke: color, 'stroke-width': n ? 1.5 : 2.5 }));
		const key = element('span', { className: 'key' });
		key.style.background = color;
		legend.append(key, name);
	});
	$('curves').replaceChildren(picture, legend);
}
