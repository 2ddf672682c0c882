// SPDX-License-Identifier: GPL-3.0-or-later
/* The time line: processes, their threads, and for each depth of calls a row of slices. */
'use strict';

const ROW = 16, HEAD = 20, RULER = 22, CLOSED = 2;

class Timeline {
	constructor(canvas, data, colors) {
		Object.assign(this, { canvas, data, colors, scroll: 0, selected: null, matches: null, showMessages: true, pointers: new Map() });
		this.end = Math.max(data.end, 1);
		this.from = 0;
		this.to = this.end;
		this.makeLanes();
		this.listen();
	}

	/* ---- what is below what ---- */

	makeLanes() {
		const data = this.data, byProcess = new Map();
		let rows = 0;

		data.tracks.forEach((track, i) => {
			if (!byProcess.has(track[0]))
				byProcess.set(track[0], []);
			byProcess.get(track[0]).push(i);
			rows += data.rows[i].length;
		});
		const order = [...byProcess.keys()].sort((a, b) => data.processes[a][2] - data.processes[b][2] || a - b);

		this.open = data.tracks.map(() => rows <= 60);
		this.closedProcess = new Set();
		this.groups = order.map(process => ({ process, tracks: byProcess.get(process) }));
		this.layout();
	}

	depths(track) {
		const n = this.data.rows[track].length;

		return Math.max(1, this.open[track] ? n : Math.min(n, CLOSED));
	}

	layout() {
		let y = 0;

		this.lanes = [];
		this.trackY = new Map();
		for (const group of this.groups) {
			this.lanes.push({ y, height: HEAD, process: group.process });
			for (const track of group.tracks)
				this.trackY.set(track, y + HEAD / 2);
			y += HEAD;
			if (this.closedProcess.has(group.process))
				continue;
			for (const track of group.tracks) {
				const height = this.depths(track) * ROW + 5;

				this.lanes.push({ y, height, track });
				this.trackY.set(track, y + height / 2);
				y += height;
			}
		}
		this.content = y;
	}

	processName(p) {
		const [name, host] = this.data.processes[p];

		return host && this.hosts() > 1 ? `${name} on ${host}` : name;
	}

	hosts() {
		this.nhosts = this.nhosts || new Set(this.data.processes.map(p => p[1])).size;
		return this.nhosts;
	}

	trackName(track) {
		const [, tid, name] = this.data.tracks[track];

		return name ? `${name} ${tid}` : `thread ${tid}`;
	}

	/* ---- drawing ---- */

	get margin() {
		return this.width < 600 ? 74 : 150;
	}

	x(t) {
		return this.margin + (t - this.from) / (this.to - this.from) * (this.width - this.margin);
	}

	at(x) {
		return this.from + (x - this.margin) / (this.width - this.margin) * (this.to - this.from);
	}

	later() {
		this.pending = this.pending || requestAnimationFrame(() => { this.pending = 0; this.draw(); });
	}

	draw() {
		const print = matchMedia('print').matches, most = print ? 900 : Math.max(220, innerHeight * 0.62);

		this.width = this.canvas.parentElement.clientWidth;
		this.height = Math.ceil(Math.min(this.content + RULER, most));
		this.scroll = Math.max(0, Math.min(this.scroll, this.content + RULER - this.height));
		const c = this.c = context(this.canvas, this.width, this.height);

		c.fillStyle = this.colors.back;
		c.fillRect(0, 0, this.width, this.height);
		for (const lane of this.lanes)
			if (lane.y + lane.height > this.scroll && lane.y - this.scroll < this.height)
				this.drawLane(lane);
		if (this.showMessages)
			this.drawMessages();
		this.drawRuler();
	}

	drawLane(lane) {
		const c = this.c, y = lane.y - this.scroll + RULER;

		c.save();
		if (lane.track === undefined) {
			c.fillStyle = this.colors.panel;
			c.fillRect(0, y, this.width, lane.height);
			c.fillStyle = this.colors.text;
			label(c, (this.closedProcess.has(lane.process) ? '\u25b8 ' : '\u25be ') + this.processName(lane.process), 4, y + HEAD / 2, this.width - 8);
		} else {
			c.fillStyle = this.colors.line;
			c.fillRect(0, y + lane.height - 1, this.width, 1);
			c.fillStyle = this.colors.faint;
			const more = this.data.rows[lane.track].length > this.depths(lane.track);
			label(c, (more ? '\u25b8 ' : '') + this.trackName(lane.track), 4, y + ROW / 2 + 1, this.margin - 6);
			c.beginPath();
			c.rect(this.margin, y, this.width - this.margin, lane.height);
			c.clip();
			for (let d = 0; d < this.depths(lane.track); d++)
				if (this.data.rows[lane.track][d])
					this.drawRow(lane.track, d, y + 2 + d * ROW);
		}
		c.restore();
	}

	/* The first slice that ends after @t. */
	static first(row, t) {
		let low = 0, high = row.n;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (row.end[middle] <= t)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	color(name) {
		const kind = this.data.kind[name];

		return kind === 1 ? this.colors.work : kind === 2 ? this.colors.wait : kind === 3 ? this.colors.apart : this.colors.name(this.data.of[name]);
	}

	/* Where a thread that works for OpenMP is in no construct, it is idle. */
	drawIdle(track, y) {
		const row = this.data.rows[track][0];

		if (this.data.tracks[track][7] || !row.n || !this.data.names[this.data.of[row.name[0]]].startsWith('omp '))
			return;
		const x0 = Math.max(this.margin, this.x(row.start[0])), x1 = Math.min(this.width, this.x(row.end[row.n - 1]));

		this.c.globalAlpha = this.matches ? 0.3 : 1;
		this.c.fillStyle = this.colors.idle;
		this.c.fillRect(x0, y + ROW - 6, Math.max(0, x1 - x0), 3);
		this.c.globalAlpha = 1;
	}

	/* Slices that are too small to be seen one by one, side by side and of one colour, are drawn as one. */
	drawRow(track, depth, y) {
		const row = this.data.rows[track][depth], scale = (this.width - this.margin) / (this.to - this.from);
		const left = this.margin - 1, right = this.width + 1;
		let run = null;

		if (depth === 0)
			this.drawIdle(track, y);
		for (let i = Timeline.first(row, this.from); i < row.n && row.start[i] < this.to; i++) {
			const x0 = Math.max(left, this.margin + (row.start[i] - this.from) * scale);
			const x1 = Math.min(right, this.margin + (row.end[i] - this.from) * scale), small = x1 - x0 < 3;

			if (run && small && run.small && x0 < run.x1 + 1 && (run.name === row.name[i] || x1 < run.x0 + 1)) {
				run.x1 = x1;
				run.busy += row.busy[i] * scale;
				run.calls += row.calls[i];
				continue;
			}
			if (run)
				this.drawRun(row, run, y);
			run = { i, x0, x1, small, name: row.name[i], busy: row.busy[i] * scale, calls: row.calls[i] };
		}
		if (run)
			this.drawRun(row, run, y);
		this.drawSelected(track, depth, row, y);
	}

	drawRun(row, run, y) {
		const c = this.c, width = Math.max(run.x1 - run.x0, 0.75), several = run.calls > 1;
		const hit = !this.matches || this.matches.has(run.name) || this.matches.has(this.data.of[run.name]);

		c.globalAlpha = (hit ? 1 : 0.18) * (several ? 0.4 + 0.6 * Math.min(1, run.busy / width) : 1);
		c.fillStyle = this.color(run.name);
		c.fillRect(run.x0, y, width > 3 ? width - 0.5 : width, ROW - 2);
		c.globalAlpha = hit ? 1 : 0.4;
		if (width > 24) {
			c.fillStyle = this.colors.text;
			label(c, run.small && several ? `${count(run.calls)} calls, ${this.data.names[run.name]}` : this.name(row, run.i), run.x0 + 3,
			      y + ROW / 2 - 1, width - 5);
		}
		c.globalAlpha = 1;
	}

	drawSelected(track, depth, row, y) {
		const s = this.selected;

		if (!s || s.track !== track || s.depth !== depth)
			return;
		this.c.strokeStyle = this.colors.select;
		this.c.lineWidth = 2;
		this.c.strokeRect(this.x(row.start[s.i]) - 1, y - 1, Math.max(3, this.x(row.end[s.i]) - this.x(row.start[s.i])) + 1, ROW);
	}

	name(row, i) {
		const name = this.data.names[row.name[i]];

		if (!(row.flags[i] & SEVERAL))
			return name;
		return row.flags[i] & SAME ? `${count(row.calls[i])} \u00d7 ${name}` : `${count(row.calls[i])} calls, ${name} ...`;
	}

	drawMessages() {
		const c = this.c;

		c.save();
		c.beginPath();
		c.rect(this.margin, RULER, this.width, this.height);
		c.clip();
		c.strokeStyle = c.fillStyle = this.colors.message;
		c.lineWidth = 1;
		for (const [from, to, sent, received] of this.data.messages || []) {
			if (Math.max(sent, received) < this.from || Math.min(sent, received) > this.to)
				continue;
			const x0 = this.x(sent), y0 = this.trackY.get(from) - this.scroll + RULER;
			const x1 = this.x(received), y1 = this.trackY.get(to) - this.scroll + RULER;

			c.beginPath();
			c.moveTo(x0, y0);
			c.lineTo(x1, y1);
			c.stroke();
			c.fillRect(x1 - 2, y1 - 2, 4, 4);
		}
		c.restore();
	}

	drawRuler() {
		const c = this.c, room = (this.width - this.margin) / 90, step = 10 ** Math.ceil(Math.log10((this.to - this.from) / room));
		const tick = [step / 5, step / 2, step].find(s => (this.to - this.from) / s <= room * 1.2) || step;

		c.fillStyle = this.colors.panel;
		c.fillRect(0, 0, this.width, RULER);
		c.fillStyle = this.colors.faint;
		label(c, time(this.to - this.from), 4, RULER / 2, this.margin);
		for (let t = Math.ceil(this.from / tick) * tick; t <= this.to; t += tick) {
			const x = this.x(t);

			c.fillStyle = this.colors.line;
			c.fillRect(x, RULER - 5, 1, 5);
			c.fillStyle = this.colors.faint;
			label(c, this.tickText(t, tick), x + 3, RULER / 2, 86);
		}
	}

	tickText(t, tick) {
		const [unit, scale] = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]].find(u => t >= u[1]) || ['ns', 1];

		return (t / scale).toFixed(Math.max(0, Math.min(9, Math.ceil(-Math.log10(tick / scale))))) + ' ' + unit;
	}

	/* ---- where one looks ---- */

	show(from, to) {
		const width = Math.max(to - from, 20), middle = (from + to) / 2;

		this.from = middle - width / 2;
		this.to = middle + width / 2;
		if (this.to - this.from >= this.end) {
			this.from = 0;
			this.to = this.end;
		} else if (this.from < 0) {
			this.to -= this.from;
			this.from = 0;
		} else if (this.to > this.end) {
			this.from -= this.to - this.end;
			this.to = this.end;
		}
		this.later();
	}

	zoom(factor, x) {
		const t = x === undefined ? (this.from + this.to) / 2 : this.at(Math.max(x, this.margin));

		this.show(t - (t - this.from) * factor, t + (this.to - t) * factor);
	}

	move(share) {
		const by = share * (this.to - this.from);

		this.show(this.from + by, this.to + by);
	}

	/* Brings a slice into view: as wide as a fifth of it unless it is shown well already. */
	select(slice, go) {
		this.selected = slice;
		if (slice && go) {
			const row = this.data.rows[slice.track][slice.depth], took = row.end[slice.i] - row.start[slice.i];
			const group = this.groups.find(g => g.tracks.includes(slice.track));

			this.closedProcess.delete(group.process);
			if (slice.depth >= this.depths(slice.track))
				this.open[slice.track] = true;
			this.layout();
			this.show(row.start[slice.i] - 2 * took, row.end[slice.i] + 2 * took);
			const y = this.trackY.get(slice.track) - this.depths(slice.track) * ROW / 2 + slice.depth * ROW;
			if (y < this.scroll || y > this.scroll + this.height - RULER - ROW)
				this.scroll = y - this.height / 3;
		}
		$('detail').textContent = slice ? this.describe(slice) : '';
		this.later();
	}

	describe(s) {
		const row = this.data.rows[s.track][s.depth], i = s.i, took = row.end[i] - row.start[i];
		const where = `${this.processName(this.data.tracks[s.track][0])}, ${this.trackName(s.track)}, depth ${s.depth + 1}`;
		const from = `from ${(row.start[i] / 1e9).toFixed(9)} s, ${time(took)}`;

		if (row.flags[i] & SEVERAL)
			return `${this.name(row, i)}\n${from}, in calls ${time(row.busy[i])}, on average ${time(row.busy[i] / row.calls[i])}; ${where}`;
		return `${this.data.names[row.name[i]]}\n${from}${row.flags[i] & CUT ? ', its end is not known' : ''}; ${where}`;
	}

	/* The longest slice of a name. */
	longest(name) {
		let best = null, most = -1;

		this.data.rows.forEach((rows, track) => rows.forEach((row, depth) => {
			for (let i = 0; i < row.n; i++) {
				const took = row.flags[i] & SEVERAL ? row.busy[i] / row.calls[i] : row.end[i] - row.start[i];

				if (took > most && (row.name[i] === name || this.data.of[row.name[i]] === name)) {
					most = took;
					best = { track, depth, i };
				}
			}
		}));
		return best;
	}

	/* All slices of some names, by time. */
	occurrences(names) {
		const list = [];

		this.data.rows.forEach((rows, track) => rows.forEach((row, depth) => {
			for (let i = 0; i < row.n; i++)
				if (names.has(row.name[i]) || names.has(this.data.of[row.name[i]]))
					list.push({ track, depth, i, start: row.start[i] });
		}));
		return list.sort((a, b) => a.start - b.start || a.depth - b.depth);
	}

	/* ---- mouse, fingers ---- */

	position(event) {
		const box = this.canvas.getBoundingClientRect();

		return [event.clientX - box.left, event.clientY - box.top];
	}

	laneAt(y) {
		return y < RULER ? null : this.lanes.find(l => y - RULER + this.scroll >= l.y && y - RULER + this.scroll < l.y + l.height);
	}

	sliceAt(x, y) {
		const lane = this.laneAt(y);

		if (!lane || lane.track === undefined || x < this.margin)
			return null;
		const depth = Math.floor((y - RULER + this.scroll - lane.y - 2) / ROW), row = this.data.rows[lane.track][depth];
		if (!row || depth >= this.depths(lane.track) || depth < 0)
			return null;
		const reach = 2 * (this.to - this.from) / this.width, t = this.at(x), i = Timeline.first(row, t - reach);

		return i < row.n && row.start[i] <= t + reach ? { track: lane.track, depth, i } : null;
	}

	click(x, y) {
		const lane = this.laneAt(y);

		if (lane && lane.track === undefined) {
			if (!this.closedProcess.delete(lane.process))
				this.closedProcess.add(lane.process);
		} else if (lane && x < this.margin) {
			this.open[lane.track] = !this.open[lane.track];
		} else {
			this.select(this.sliceAt(x, y), false);
			return;
		}
		this.layout();
		this.later();
	}

	drag(event) {
		const before = this.pointers.get(event.pointerId), now = this.position(event);

		if (this.pointers.size === 2) {
			const other = [...this.pointers].find(p => p[0] !== event.pointerId)[1];
			const factor = Math.abs(before[0] - other[0]) / Math.max(4, Math.abs(now[0] - other[0]));

			this.zoom(Math.max(0.5, Math.min(2, factor)), (now[0] + other[0]) / 2);
		} else {
			const by = (before[0] - now[0]) / (this.width - this.margin) * (this.to - this.from), top = this.scroll;

			this.scroll = Math.max(0, Math.min(this.scroll + before[1] - now[1], this.content + RULER - this.height));
			if (this.scroll === top && event.pointerType === 'touch')
				window.scrollBy(0, before[1] - now[1]);
			this.show(this.from + by, this.to + by);
		}
		this.pointers.set(event.pointerId, now);
	}

	listen() {
		const canvas = this.canvas;

		canvas.addEventListener('wheel', event => {
			if (event.ctrlKey || event.metaKey)
				this.zoom(Math.exp(event.deltaY / 300), this.position(event)[0]);
			else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
				this.move((event.deltaX || event.deltaY) / 800);
			else if (event.deltaY < 0 ? this.scroll > 0 : this.scroll < this.content + RULER - this.height - 1) {
				this.scroll += event.deltaY;
				this.later();
			} else
				return;
			event.preventDefault();
		}, { passive: false });
		canvas.addEventListener('pointerdown', event => {
			this.pointers.set(event.pointerId, this.position(event));
			this.pressed = this.position(event);
			this.dragged = false;
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointermove', event => {
			const [x, y] = this.position(event);

			this.mouse = x;
			if (this.pointers.has(event.pointerId)) {
				this.dragged = this.dragged || Math.hypot(x - this.pressed[0], y - this.pressed[1]) > 4;
				if (this.dragged)
					this.drag(event);
				return;
			}
			const slice = this.sliceAt(x, y);

			tip(event, slice && this.describe(slice));
		});
		canvas.addEventListener('pointerup', event => {
			if (this.pointers.delete(event.pointerId) && !this.dragged && !this.pointers.size)
				this.click(...this.position(event));
		});
		canvas.addEventListener('pointercancel', event => this.pointers.delete(event.pointerId));
		canvas.addEventListener('pointerleave', event => { this.mouse = undefined; tip(event, ''); });
	}

	/* False: it is no key of the time line. */
	key(key) {
		const actions = {
			w: () => this.zoom(1 / 1.5, this.mouse), s: () => this.zoom(1.5, this.mouse),
			a: () => this.move(-0.2), d: () => this.move(0.2),
			W: () => this.zoom(1 / 4, this.mouse), S: () => this.zoom(4, this.mouse), A: () => this.move(-0.8), D: () => this.move(0.8),
			f: () => this.selected && this.select(this.selected, true),
			m: () => { this.showMessages = !this.showMessages; this.later(); },
			0: () => this.show(0, this.end), Escape: () => this.select(null, false),
		};

		if (!actions[key])
			return false;
		actions[key]();
		return true;
	}
}
