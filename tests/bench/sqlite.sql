-- SPDX-License-Identifier: GPL-3.0-or-later
pragma journal_mode = off;
create table t (id integer primary key, name text, amount integer, place text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
insert into t select i, 'name ' || i, i * 7919 % 10007, 'place ' || i % 97 from n;
create index by_place on t (place, amount);
select place, count(*), sum(amount), max(length(name)) from t group by place order by 3 desc limit 3;
update t set name = upper(name), amount = abs(amount - 5000) where id % 3 = 0;
select count(*), sum(instr(name, '7')), total(amount) from t where substr(name, 1, 4) = 'NAME';
select id, name, amount, place from t where amount < 400 order by name;
delete from t where id % 5 = 0;
