// SPDX-License-Identifier: GPL-3.0-or-later
/* Tables that are sorted by a click on a heading. */
'use strict';

const FIRST_ROWS = 100;

/*
 * columns: { title, value(row), text(row), cell(row), note }: value is sorted by, text is what is shown; cell, an element in its
 * place.  Numbers are sorted downwards at first.
 */
class SortedTable {
	constructor(table, columns, rows, sorted) {
		Object.assign(this, { table, columns, rows, sorted, down: true, limit: FIRST_ROWS, wanted: null });
		this.head = element('tr');
		this.body = element('tbody');
		columns.forEach((column, i) => {
			const button = element('button', { textContent: column.title, title: column.note || '' });

			button.addEventListener('click', () => this.sort(i));
			this.head.append(element('th', { className: column.left ? 'text' : '' }, button));
		});
		table.replaceChildren(element('thead', {}, this.head), this.body);
		this.show();
	}

	sort(i) {
		this.down = this.sorted === i ? !this.down : !this.columns[i].left;
		this.sorted = i;
		this.show();
	}

	/* Only rows for which it is true; null: all. */
	filter(wanted) {
		this.wanted = wanted;
		this.show();
	}

	show() {
		const column = this.columns[this.sorted], order = this.down ? -1 : 1;
		const rows = this.wanted ? this.rows.filter(this.wanted) : this.rows.slice();

		rows.sort((a, b) => {
			const x = column.value(a), y = column.value(b);

			return x < y ? -order : x > y ? order : 0;
		});
		this.left = Math.max(0, rows.length - this.limit);
		[...this.head.children].forEach((th, i) =>
			th.setAttribute('aria-sort', i !== this.sorted ? 'none' : this.down ? 'descending' : 'ascending'));
		this.body.replaceChildren(...rows.slice(0, this.limit).map(row => this.line(row)));
		if (this.shown)
			this.shown();
	}

	line(row) {
		return element('tr', {}, ...this.columns.map(column => {
			const td = element('td', { className: column.left ? 'text' : '' });

			td.append(column.cell ? column.cell(row) : column.text(row));
			return td;
		}));
	}
}

/* As launcher/html/functions.c writes them. */
const F = { NAME: 0, MODULE: 1, PATH: 2, KIND: 3, CALLS: 4, TOTAL: 5, SELF: 6, AVERAGE: 7, MIN: 8, MAX: 9, WAIT: 10, THREADS: 11, BYTES: 12 };

function base(path) {
	return path.slice(path.lastIndexOf('/') + 1);
}

function functionTable(data, go) {
	const part = (title, at, note) => ({ title, note, value: row => row[at], text: row => row[F.KIND] ? '' : time(row[at]) });
	const columns = [
		{
			title: 'function', left: true, value: row => data.names[row[F.NAME]].toLowerCase(),
			cell: row => {
				const button = element('button', { className: 'link', textContent: data.names[row[F.NAME]], title: data.names[row[F.NAME]] });

				button.addEventListener('click', () => go(row[F.NAME]));
				return button;
			},
		},
		{ title: 'calls', value: row => row[F.CALLS], text: row => count(row[F.CALLS]) },
		part('total', F.TOTAL, 'from entry to return'),
		{ title: 'total%', value: row => row[F.TOTAL], text: row => row[F.KIND] ? '' : percent(row[F.TOTAL], data.whole) },
		part('self', F.SELF, 'without other recorded functions'),
		{ title: 'self%', value: row => row[F.SELF], text: row => row[F.KIND] ? '' : percent(row[F.SELF], data.whole) },
		part('average', F.AVERAGE), part('min', F.MIN), part('max', F.MAX),
	];

	if (data.functions.some(row => row[F.WAIT]))
		columns.push(part('waiting', F.WAIT));
	data.byte_columns.forEach((name, i) => {
		if (data.functions.some(row => row[F.BYTES + i]))
			columns.push({ title: clean(name), value: row => row[F.BYTES + i], text: row => row[F.BYTES + i] ? size(row[F.BYTES + i]) : '' });
	});
	if (data.threads > 1)
		columns.push({ title: 'threads', value: row => row[F.THREADS], text: row => String(row[F.THREADS]) });
	columns.push({
		title: 'in', left: true, value: row => data.names[row[F.PATH]],
		text: row => [data.names[row[F.MODULE]], base(data.names[row[F.PATH]])].filter(Boolean).join(', '),
	});
	return new SortedTable($('functions'), columns, data.functions, 2);
}
