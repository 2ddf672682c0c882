// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What the page shows, from the text that Sonde wrote into it.
 *
 * `slices': base64 of numbers, each 7 bits a byte, the lowest first, the highest bit set where more follow. For each track how many
 * rows it has; for each row how many slices; for each slice: ns from the end of the one before (at first from 0), ns that it takes,
 * 4 * name + flags. Flag 1: it is several calls, then how many and how many ns of it follow; flag 2: all have that name; of a single
 * call, its end is not known.
 */
'use strict';

const SEVERAL = 1, SAME = 2, CUT = 2;

/* Characters that have no form of their own, or change that of others. */
function clean(text) {
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\uf700-\uf7ff]/g, '\ufffd');
}

function bytesOf(base64) {
	const text = atob(base64), bytes = new Uint8Array(text.length);

	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return bytes;
}

/* For each track its rows; times in ns, as numbers. */
function unpackSlices(bytes, tracks) {
	let at = 0;

	function number() {
		let value = 0, scale = 1, byte;

		do {
			byte = bytes[at++];
			value += (byte & 0x7f) * scale;
			scale *= 128;
		} while (byte & 0x80);
		return value;
	}

	function row() {
		const n = number(), r = { n, start: new Float64Array(n), end: new Float64Array(n), name: new Uint32Array(n),
					  flags: new Uint8Array(n), calls: new Float64Array(n), busy: new Float64Array(n) };
		let end = 0;

		for (let i = 0; i < n; i++) {
			r.start[i] = end + number();
			end = r.end[i] = r.start[i] + number();
			const name = number();

			r.name[i] = Math.floor(name / 4);
			r.flags[i] = name & 3;
			r.calls[i] = r.flags[i] & SEVERAL ? number() : 1;
			r.busy[i] = r.flags[i] & SEVERAL ? number() : end - r.start[i];
		}
		return r;
	}

	return Array.from({ length: tracks }, () => Array.from({ length: number() }, row));
}

function readData(text) {
	const data = JSON.parse(text);

	data.names = data.names.map(clean);
	data.of = data.names.map((name, i) => i);
	data.kind = new Uint8Array(data.names.length);
	for (const [name, of, kind] of data.kinds) {
		data.of[name] = of;
		data.kind[name] = kind;
	}
	/* texts that are names, by their columns */
	for (const [list, ...columns] of [[data.processes, 0, 1], [data.tracks, 2], [data.bars, 3], [data.omp, 1], [data.memory, 0, 1]])
		for (const row of list || [])
			for (const column of columns)
				row[column] = data.names[row[column]];
	for (const curve of data.memory_curves || [])
		curve[0] = clean(curve[0]);
	data.rows = data.slices === undefined ? [] : unpackSlices(bytesOf(data.slices), data.tracks.length);
	delete data.slices;
	return data;
}

/* ---- figures as a person reads them ---- */

function round(value) {
	return value >= 1000 ? value.toFixed(0) : value.toPrecision(4);
}

function time(ns) {
	for (const [unit, scale] of [['s', 1e9], ['ms', 1e6], ['us', 1e3]])
		if (ns >= scale)
			return round(ns / scale) + ' ' + unit;
	return ns.toFixed(ns < 10 && ns % 1 ? 1 : 0) + ' ns';
}

function size(bytes) {
	for (const [unit, scale] of [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]])
		if (bytes >= scale)
			return round(bytes / scale) + ' ' + unit;
	return bytes + ' B';
}

function percent(part, whole) {
	return whole ? (100 * part / whole).toFixed(1) + '%' : '';
}

function count(value) {
	return String(value).replace(/\B(?=(\d{3})+$)/g, '\u2009');
}

/* ---- elements ---- */

const $ = id => document.getElementById(id);

function element(tag, attributes, ...children) {
	const e = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes || {}))
		if (name in e)
			e[name] = value;
		else
			e.setAttribute(name, value);
	e.append(...children);
	return e;
}

function tip(event, text) {
	const box = $('tip');

	box.hidden = !text;
	if (!text)
		return;
	box.textContent = text;
	box.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 6)) + 'px';
	box.style.top = Math.max(0, Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 6)) + 'px';
}

/* ---- canvases ---- */

/* Colours as the style sheet has them now: they depend on light, dark and print. */
function palette() {
	const style = getComputedStyle(document.documentElement), value = name => style.getPropertyValue('--' + name).trim();
	const colors = {};

	for (const name of ['back', 'text', 'faint', 'line', 'panel', 'accent', 'work', 'wait', 'apart', 'idle', 'message', 'select'])
		colors[name] = value(name);
	colors.of = name => `hsl(${(name * 137.508) % 360} ${value('s')} ${value('l')})`;
	colors.cache = [];
	colors.name = name => colors.cache[name] || (colors.cache[name] = colors.of(name));
	return colors;
}

/* Makes the canvas as large as it is shown, and returns what draws in CSS pixels. */
function context(canvas, width, height) {
	const scale = window.devicePixelRatio || 1, c = canvas.getContext('2d');

	canvas.style.height = height + 'px';
	if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
	}
	c.setTransform(scale, 0, 0, scale, 0, 0);
	c.font = '11px system-ui, "DejaVu Sans", sans-serif';
	c.textBaseline = 'middle';
	return c;
}

/* As much of the text as the width has room for. */
function label(c, text, x, y, width) {
	const most = Math.floor(width / 6.2);

	if (most >= 3)
		c.fillText(text.length <= most ? text : text.slice(0, most - 1) + '\u2026', x, y);
}
