// SPDX-License-Identifier: GPL-3.0-or-later
/* The page: what there is of it for this trace, the search, and the keys. */
'use strict';

window.addEventListener('error', event => {
	document.documentElement.dataset.error = event.message;
	$('problems').hidden = false;
	$('problems').append(element('li', { textContent: 'This page has failed: ' + event.message }));
});

function about(data) {
	const name = base(clean(data.program)), started = new Date(data.started_ms), parts = [];

	document.title = name + ' - Sonde';
	$('title').textContent = name;
	parts.push(clean(data.command), `on ${clean(data.host)}, ${started.toISOString().replace('T', ' ').slice(0, 19)} UTC, for ${time(data.end)}`);
	if (data.ending)
		parts.push(clean(data.ending));
	parts.push(`${data.ranks > 1 ? count(data.ranks) + ' ranks, ' : ''}${count(data.threads)} ${data.threads === 1 ? 'thread' : 'threads'}, ` +
		`${count(data.events)} events`, `Sonde ${clean(data.sonde)}`);
	if (data.recording)
		parts.push(`recording took ${time(data.recording)}, which the tables and the flame graph leave out and the time line does not`);
	$('about').textContent = parts.join('; ');
	$('problems').hidden = !data.problems.length;
	$('problems').replaceChildren(...data.problems.map(text => element('li', { textContent: clean(text) })));
}

function legend(data) {
	const keys = [[1, 'work', 'OpenMP work'], [2, 'wait', 'waiting'], [3, 'apart', 'apart']].filter(k => data.kind.includes(k[0]));

	if (keys.some(k => k[0] === 1))
		keys.splice(2, 0, [0, 'idle', 'idle']);
	if (data.messages.length)
		keys.push([0, 'message', 'messages']);
	for (const [, color, text] of keys) {
		const key = element('span', { className: 'key' });

		key.style.background = `var(--${color})`;
		$('legend').append(key, text);
	}
}

function note(data) {
	const parts = [];

	if (data.cell)
		parts.push(`Calls shorter than ${time(data.cell)} are drawn together with those beside them.`);
	if (data.deeper)
		parts.push(`${count(data.deeper)} deeper calls are not drawn.`);
	if (data.messages_every > 1)
		parts.push(`One message of ${data.messages_every} is drawn, of ${count(data.messages_all)}.`);
	if (data.tracks_left_out)
		parts.push(`${count(data.tracks_left_out)} threads with the fewest events are not drawn.`);
	$('timeline-note').textContent = parts.join(' ');
}

/* Names that a text means; null: it is empty. */
function matching(data, text) {
	const match = text.match(/^\/(.+)\/$/), names = new Set();
	let fits = name => name.toLowerCase().includes(text.toLowerCase());

	if (!text)
		return null;
	if (match) {
		try {
			const pattern = new RegExp(match[1]);

			fits = name => pattern.test(name);
		} catch (error) {
			return names;
		}
	}
	data.names.forEach((name, i) => { if (fits(name)) names.add(i); });
	return names;
}

class Page {
	constructor(data) {
		this.data = data;
		this.colors = palette();
		about(data);
		if (data.tracks && data.tracks.length)
			this.addTimeline();
		if (data.flame && data.flame.length > 1)
			this.flame = this.add('flame-part', () => new Flame($('flame'), data, this.colors));
		if (data.functions.length)
			this.addFunctions();
		if (data.bars && data.bars.length > 1)
			this.add('threads-part', () => threadBars(data, this.colors));
		if (data.omp && data.omp.length)
			this.add('omp-part', () => openmp(data));
		if (data.mpi_calls && data.mpi_calls.length) {
			this.add('mpi-part', () => mpiCalls(data));
			if (data.mpi_pairs.length)
				matrix(data);
		}
		if (data.memory && data.memory.length)
			this.add('memory-part', () => { memoryTable(data); curves(data, data.memory_curves); });
		this.listen();
		this.draw();
	}

	add(part, make) {
		$(part).hidden = false;
		return make();
	}

	addTimeline() {
		this.timeline = this.add('timeline-part', () => new Timeline($('timeline'), this.data, this.colors));
		legend(this.data);
		note(this.data);
		$('zoom-in').addEventListener('click', () => this.timeline.zoom(0.5));
		$('zoom-out').addEventListener('click', () => this.timeline.zoom(2));
		$('zoom-all').addEventListener('click', () => this.timeline.show(0, this.timeline.end));
	}

	addFunctions() {
		const button = $('functions-all');

		this.table = this.add('functions-part', () => functionTable(this.data, name => this.go(name)));
		this.table.shown = () => {
			button.hidden = !this.table.left;
			button.textContent = `${count(this.table.left)} more`;
		};
		this.table.shown();
		button.addEventListener('click', () => { this.table.limit = Infinity; this.table.show(); });
	}

	/* From a table to the time line. */
	go(name) {
		const slice = this.timeline && this.timeline.longest(name);

		this.mark(new Set([name]), this.data.names[name]);
		if (!slice) {
			$('found').textContent = 'the time line has no slice of its own for that function';
			return;
		}
		this.timeline.select(slice, true);
		$('timeline-part').scrollIntoView();
		$('timeline').focus({ preventScroll: true });
	}

	mark(names, text) {
		if (text !== undefined)
			$('search').value = text;
		this.names = names;
		this.list = null;
		this.at = -1;
		$('found').textContent = names ? `${count(names.size)} ${names.size === 1 ? 'name' : 'names'}` : '';
		for (const part of [this.timeline, this.flame])
			if (part)
				part.matches = names;
		this.draw();
	}

	search() {
		const names = matching(this.data, $('search').value.trim());

		this.mark(names);
		if (this.table)
			this.table.filter(names && (row => names.has(row[F.NAME])));
	}

	step(by) {
		if (!this.names || !this.timeline)
			return;
		this.list = this.list || this.timeline.occurrences(this.names);
		if (!this.list.length)
			return;
		this.at = this.at < 0 && by < 0 ? this.list.length - 1 : (this.at + by + this.list.length) % this.list.length;
		$('found').textContent = `${count(this.at + 1)} of ${count(this.list.length)}`;
		this.timeline.select(this.list[this.at], true);
	}

	draw() {
		if (this.timeline)
			this.timeline.draw();
		if (this.flame)
			this.flame.draw();
	}

	recolor() {
		Object.assign(this.colors, palette());
		this.draw();
	}

	listen() {
		const box = $('search');

		box.addEventListener('input', () => this.search());
		box.addEventListener('keydown', event => {
			if (event.key === 'Enter')
				this.step(event.shiftKey ? -1 : 1);
			else if (event.key === 'Escape') {
				box.value = '';
				this.search();
				box.blur();
			}
		});
		$('next').addEventListener('click', () => this.step(1));
		$('previous').addEventListener('click', () => this.step(-1));
		window.addEventListener('resize', () => this.draw());
		for (const query of ['(prefers-color-scheme: dark)', 'print'])
			matchMedia(query).addEventListener('change', () => this.recolor());
		window.addEventListener('beforeprint', () => this.recolor());
		window.addEventListener('afterprint', () => this.recolor());
		document.addEventListener('keydown', event => {
			if (event.ctrlKey || event.metaKey || event.altKey || ['INPUT', 'SELECT', 'TEXTAREA'].includes(event.target.tagName))
				return;
			if (event.key === '/') {
				box.focus();
				box.select();
			} else if (!this.timeline || !this.timeline.key(event.key))
				return;
			event.preventDefault();
		});
	}
}

window.page = new Page(readData($('data').textContent));
document.documentElement.dataset.ready = 'yes';
