// SPDX-License-Identifier: GPL-3.0-or-later
/* The flame graph: call paths, the outermost above; the width is their time. */
'use strict';

const FLAME_ROW = 17;

class Flame {
	constructor(canvas, data, colors) {
		Object.assign(this, { canvas, data, colors, top: 0, matches: null });
		this.nodes = data.flame.map(([parent, name, calls, total, self, wait]) => ({ parent, name, calls, total, self, wait, children: [] }));
		this.nodes.forEach((node, i) => { if (i) this.nodes[node.parent].children.push(i); });
		this.nodes[0].total = Math.max(1, this.nodes[0].children.reduce((sum, i) => sum + this.nodes[i].total, 0));
		for (const node of this.nodes)
			node.children.sort((a, b) => this.nodes[b].total - this.nodes[a].total);
		canvas.addEventListener('click', event => this.click(event));
		canvas.addEventListener('mousemove', event => {
			const box = this.at(event);

			tip(event, box && this.describe(box.i));
		});
		canvas.addEventListener('mouseleave', event => tip(event, ''));
	}

	describe(i) {
		const node = this.nodes[i], path = [];

		for (let at = i; at; at = this.nodes[at].parent)
			path.unshift(this.data.names[this.nodes[at].name]);
		return `${this.data.names[node.name]}\n${time(node.total)} (${percent(node.total, this.nodes[0].total)}), own ${time(node.self)}, ` +
			`waiting ${time(node.wait)}, ${count(node.calls)} calls\n${path.join(' > ')}`;
	}

	/* What is drawn: the way down to `top', then all below it. */
	boxes() {
		const list = [], way = [];

		for (let at = this.top; at; at = this.nodes[at].parent)
			way.unshift(at);
		way.forEach((i, depth) => list.push({ i, depth, x: 0, width: this.width }));
		const place = (i, depth, x, scale) => {
			for (const child of this.nodes[i].children) {
				const width = this.nodes[child].total * scale;

				if (width >= 0.5) {
					list.push({ i: child, depth, x, width });
					place(child, depth + 1, x, scale);
				}
				x += width;
			}
		};
		place(this.top, way.length, 0, this.width / Math.max(1, this.nodes[this.top].total));
		return list;
	}

	draw() {
		this.width = this.canvas.parentElement.clientWidth;
		this.list = this.boxes();
		const depth = this.list.reduce((most, box) => Math.max(most, box.depth + 1), 1);
		const c = context(this.canvas, this.width, Math.min(depth, 400) * FLAME_ROW + 2);

		c.fillStyle = this.colors.back;
		c.fillRect(0, 0, this.width, depth * FLAME_ROW + 2);
		for (const { i, depth, x, width } of this.list) {
			const node = this.nodes[i], kind = this.data.kind[node.name], hit = !this.matches || this.matches.has(node.name);

			c.globalAlpha = hit ? 1 : 0.22;
			c.fillStyle = kind === 2 ? this.colors.wait : kind === 1 ? this.colors.work : this.colors.name(node.name);
			c.fillRect(x, depth * FLAME_ROW, Math.max(0.6, width - 0.6), FLAME_ROW - 1);
			c.fillStyle = this.colors.text;
			label(c, this.data.names[node.name], x + 3, depth * FLAME_ROW + FLAME_ROW / 2, width - 5);
		}
		c.globalAlpha = 1;
	}

	at(event) {
		const r = this.canvas.getBoundingClientRect(), x = event.clientX - r.left, depth = Math.floor((event.clientY - r.top) / FLAME_ROW);

		return (this.list || []).find(b => b.depth === depth && x >= b.x && x < b.x + b.width);
	}

	click(event) {
		const box = this.at(event);

		this.top = !box || box.i === this.top ? 0 : box.i;
		$('flame-detail').textContent = box ? this.describe(box.i) : '';
		this.draw();
	}
}
