"""DuckDB's grammar by example: expressions, conditions and statements over three small tables."""

COLUMNS = (
    "id BIGINT, i INTEGER, f DOUBLE, d DECIMAL(10,3), s VARCHAR, z BOOLEAN, dt DATE, ts TIMESTAMP,"
    " tz TIMESTAMPTZ, l INTEGER[], w VARCHAR[], m MAP(VARCHAR, INTEGER), x BLOB, j JSON,"
    " n STRUCT(a INTEGER, b STRUCT(c INTEGER, d VARCHAR)), main STRUCT(t INTEGER)"
)
ROWS = (
    "(1, 1, 1.5, 1.250, 'N1', true, '2024-01-01', '2024-01-01 10:00:00',"
    " '2024-01-01 00:00:00+02', [1, 2], ['a', 'b'], MAP {'a': 1}, 'ab', '{\"a\": 1}',"
    " {'a': 1, 'b': {'c': 5, 'd': 'x'}}, {'t': 1})",
    "(2, -3, 'nan', -2.000, 'N12', false, '2023-12-31', '2023-12-31 23:59:59.5',"
    " '2023-12-31 22:30:00+00', [3, NULL], ['b'], MAP {'b': 2}, 'N1', '[1, null]',"
    " {'a': 2, 'b': {'c': 6, 'd': 'y'}}, {'t': 2})",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(4, 7, -0.0, 0.001, 'n1', true, '2024-02-29', '2024-02-29 00:00:00',"
    " '2024-02-29 12:00:00+00', [], [], MAP {}, '', '\"x\"',"
    " {'a': NULL, 'b': NULL}, {'t': NULL})",
    "(5, 7, 'inf', 9.999, 'aé%_', false, '1970-01-01', '1970-01-01 00:00:00',"
    " '1970-01-01 00:00:00+00', [7, 7], ['N1', 'aé'], MAP {'a': 7, 'b': 8}, '\\xC3', '7',"
    " {'a': 7, 'b': {'c': NULL, 'd': 'N1'}}, {'t': 7})",
)
OTHERS = {
    "u": (
        "k INTEGER, v VARCHAR, moment TIMESTAMP",
        "(1, 'one', '2024-01-01'), (7, 'seven',"
        " '2023-06-01'), (7, 'again', '2024-03-01'), (9, NULL, NULL)",
    ),
    "e": (
        "grp VARCHAR, yr INTEGER, q1 INTEGER, q2 INTEGER",
        "('a', 2023, 1, 2), ('a', 2024, 3, 4), ('b', 2023, 5, NULL)",
    ),
}

CONDITIONS = """
s ~ 'N1'
s !~ 'N1'
s ~ 'N.*'
NOT s ~ 'N1'
s SIMILAR TO 'N1'
s NOT SIMILAR TO 'N.*'
s GLOB 'N*'
s LIKE 'N_'
s NOT LIKE 'N%'
s ILIKE 'n1'
s LIKE 'a_!%%' ESCAPE '!'
s ^@ 'N'
s ~~ 'N1%'
s !~~ 'N1%'
s COLLATE NOCASE = 'N1'
s || '!' = 'N1!'
s IN w
i IN l
i IN (1, 7, NULL)
i NOT IN (1, 7)
i NOT IN (1, NULL)
(i, z) IN ((1, true), (7, false))
i = ANY(l)
i = ALL([7])
i <> ALL([7, 1])
i = ANY([1, 7])
s <> (TIMESTAMPTZ '2024-01-01 00:00:00+02'::VARCHAR)[:1]
dt = TIMESTAMPTZ '2024-01-01 00:00:00+02'::DATE
dt = timestamptz '2024-01-01 00:00:00+02'::date AND i > 0
dt::TIMESTAMP < ts
DATE '2024-01-01'::TIMESTAMP = ts::DATE
ts > DATE '2024-01-01'::TIMESTAMP - INTERVAL 1 DAY
TIME '10:00'::VARCHAR = ts::TIME::VARCHAR
n.a = 1
n.b.c = 5
n.b.d ~ 'N1'
(n).b.c > 5
n['b']['c'] = 6
t.n.b.c = 5
main.t = 7
NOT i = 7
NOT (i = 7)
NOT i IS NULL
i IS NULL = z
i = 7 IS NULL
i = 7 IS NOT TRUE
(i = 7) IS NOT TRUE
i = 7 IS UNKNOWN
z IS NOT FALSE
NOT z IS TRUE
z
NOT z
i > 0 OR z AND NOT f > 1
i > 0 AND z OR f > 1
NOT i > 0 AND z
i BETWEEN 0 AND 5 AND z
i NOT BETWEEN 0 AND 5 OR z
i BETWEEN 1 AND 2.5
CASE WHEN i > 0 AND z THEN true WHEN i < 0 THEN z END
CASE i WHEN 7 THEN z ELSE i > 0 END
i ^ 2 = 49
i ** 2 = 49
-i ** 2 = 49
-i ^ 2 = 49
2 ^ 3 ^ 2 > i
i % 2 = 1
i // 2 = 3
i / 2 = 3.5
i & 1 = 1
i | 8 = 15
abs(i) << 1 = 14
i >> 1 = 3
~i = -8
xor(i, 1) = 6
@i = 3
3! > i
-i < 3
- - i = 7
+i = 7
i - -1 = 8
f = 'nan'
f = 'NaN'::DOUBLE
f > 1e308
f = -0.0
isnan(f)
d = 1.25
d = 1.2500
d = '1.25'
d::INTEGER = 1
CAST(d AS VARCHAR) = '1.250'
TRY_CAST(s AS INTEGER) IS NULL
i::VARCHAR = '7'
i = '7'
'7' = i
1_0 > i
1e0 = i
.5 < f
id = 3 OR l IS NULL
l = [1, 2]
l[1] = 1
l[-1] = 2
l[1:1] = [1]
l[:] = [7, 7]
len(l) = 2
list_contains(l, 7)
l && [1]
l @> [7]
[7] <@ l
list_filter(l, x -> x > 1) = [2]
list_filter(l, lambda x: x > 1) = [2]
list_transform(l, (e, p) -> e + p) = [2, 4]
list_reduce([1, i], (a, b) -> a + b) = 8
[e + 1 FOR e IN l IF e > 1] = [3]
list_any_value(l) = 7
m['a'] = 1
m = MAP {'a': 1}
map_keys(m) = ['a']
element_at(m, 'a') = [1]
n = {'a': 1, 'b': {'c': 5, 'd': 'x'}}
struct_extract(n, 'a') = 2
row(i, z) = row(7, true)
j->>'a' = '1'
j->>'$.a' = '1'
(j->'a')::VARCHAR = '1'
(j->>'a')::INTEGER = 1
json_extract_string(j, '$.a') = '1'
json_array_length(j) = 2
x = 'ab'::BLOB
x = '\\x4E1'::BLOB
octet_length(x) = 2
ts = '2024-01-01 10:00:00'
ts::DATE = dt
ts - dt::TIMESTAMP > INTERVAL 1 HOUR
ts + INTERVAL '1' DAY > TIMESTAMP '2024-01-02'
ts + INTERVAL 1 MONTH > '2024-02-01'
ts BETWEEN '2023-01-01' AND DATE '2024-01-31'
tz = '2024-01-01 00:00:00+02'
tz AT TIME ZONE 'Europe/Berlin' > '2024-01-01'
ts AT TIME ZONE 'UTC' < tz
extract(year FROM ts) = 2024
EXTRACT('month' FROM dt) = 2
date_part('dow', dt) = 1
date_trunc('month', ts) = '2024-02-01'
dt + 1 = DATE '2024-01-02'
dt - DATE '2024-01-01' = 59
dt < 'infinity'
ts > 'epoch'::TIMESTAMP
year(dt) = 2024 AND month(dt) IN (1, 2)
current_date > dt
strftime(ts, '%Y') = '2024'
coalesce(i, 0) = 0
NOT coalesce(z, false)
ifnull(s, 'q') = 'q'
nullif(i, 7) IS NULL
greatest(i, 5) = 7
if(i > 0, z, true)
i IS DISTINCT FROM 7
i IS NOT DISTINCT FROM NULL
i ISNULL
i NOTNULL
i == 7
i != 7
i <> 7
s[1] = 'N'
s[1:2] = 'N1'
substring(s FROM 1 FOR 2) = 'N1'
position('1' IN s) = 2
trim(BOTH 'N' FROM s) = '1'
upper(s) = 'N1'
s.upper() = 'N1'
s.lower().length() = 2
length(s) > 2
regexp_matches(s, '^N')
s = $$N1$$
s = $tag$N1$tag$
s = E'N\\x31'
s = e'N1'
s <> 'it''s'
s > 'N' AND s < 'O'
"i" = 7
"I" = 7
I = 7
true
false
NULL
1 = 1
i = 7 -- a comment
i /* one */ = /* two /* nested */ */ 7
hash(i) = hash(7)
printf('%d', i) = '7'
format('{}', i) = '7'
i::BIGINT::VARCHAR::INTEGER = 7
CAST(CAST(i AS DOUBLE) AS INTEGER) = 7
'7'::INTEGER = i
INTEGER '7' = i
BOOLEAN 'true' = z
[1, 2] = l
(i) = (7)
((i > 0) AND (z))
""".strip().split("\n")

EXPRESSIONS = """
i + 1
i + 1 AS plus
-i
i::VARCHAR || '!'
date '2024-01-01'::timestamp
typeof(date '2024-01-01'::timestamp)
time '10:00'::varchar
timestamptz '2024-01-01 00:00:00+02'::date
timestamptz '2024-01-01 00:00:00+02' AT TIME ZONE 'UTC'
date '2024-01-01'::varchar || '!'
interval '1' day::varchar
interval 3 hours
INTERVAL (i) DAYS
n.b.c
t.n.b.c
n.b
(n).b.d
n.*
main.t
t.main.t
t.main
s ~ 'N1'
s !~ 'N.'
[i, 2, NULL]
[i FOR i IN l]
{'a': i, 'b': [s]}
MAP {'k': i}
row(i, s)
(i, s)
struct_pack(a := i, b := s)
list_transform(l, x -> x * i)
list_sort(l, 'DESC')
l[1:2]
array_value(1, 2, 3)
[1, 2, 3]::INTEGER[3]
unnest(l)
i ** 2
2 ^ 3 ^ 2
-2 ^ 2
7 // 2
7 / 2
7 % 4
-7 % 4
5!
@(-5)
~5
1 << 3 | 1
1.0
1.50
1e3
1_000_000
.5
5.
12345678901234567890
170141183460469231731687303715884105727
'\\n'
E'\\n'
$$dollar$$
x'AB'
b'101'
'101'::BIT
true AND NULL
CASE WHEN z THEN 1 ELSE 2.5 END
CASE i WHEN 1 THEN 'one' END
CAST(d AS DECIMAL(10,2))
TRY_CAST('x' AS INTEGER)
'7'::UTINYINT
f::FLOAT
s::VARCHAR COLLATE NOCASE
count(*)
count(*) FILTER (WHERE z)
sum(i ORDER BY id)
list(i ORDER BY id DESC)
string_agg(s, ',' ORDER BY id)
arg_max(s, id)
count(DISTINCT i)
approx_quantile(id, 0.5)
quantile_cont(id, [0.25, 0.5])
percentile_cont(0.5) WITHIN GROUP (ORDER BY id)
row_number() OVER (ORDER BY id)
sum(i) OVER (PARTITION BY z ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
lag(i, 1, 0) OVER (ORDER BY id)
last_value(i IGNORE NULLS) OVER (ORDER BY id)
max(id) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW)
(SELECT max(k) FROM u)
(SELECT v FROM u WHERE k = t.i ORDER BY v LIMIT 1)
EXISTS (SELECT 1 FROM u WHERE u.k = t.i)
i IN (SELECT k FROM u)
i = ANY (SELECT k FROM u)
ARRAY(SELECT k FROM u ORDER BY k)
extract(epoch FROM ts)
date_diff('day', dt, DATE '2024-03-01')
dt + INTERVAL 1 MONTH
ts - INTERVAL '1 day 2 hours'
age(ts, TIMESTAMP '2024-01-01')
strptime('2024', '%Y')
make_date(2024, 1, 2)
s.upper()
s.upper().length()
lower(s)[1]
s[2]
substring(s, 2)
concat_ws('-', s, i)
s LIKE 'N%'
j->'a'
j->>'$.a'
'{"a": {"b": 1}}'::JSON->'a'->>'b'
json_object('a', i)
typeof(n)
COLUMNS('i|id')
COLUMNS(c -> c LIKE 'i%')
COLUMNS(* EXCLUDE (j, n, main, m, l, w, x)) IS NULL
* EXCLUDE (j, n, main)
* EXCLUDE j REPLACE (i + 1 AS i)
* RENAME (i AS renamed)
t.*
t
coalesce(*COLUMNS(['i', 'id'])) AS c
grouping_set_free: 1
alias_first: i + 1
i AS "odd name"
i "quoted alias"
hex(x)
x || x
md5(s)
greatest(i, 5, NULL)
ifnull(i, 0)
nullif(i, 7)
""".strip().split("\n")

STATEMENTS = """
FROM t
FROM t SELECT id, i
SELECT id FROM t LIMIT 2 OFFSET 1
FROM t SELECT id ORDER BY id LIMIT 40%
SELECT DISTINCT i FROM t
SELECT DISTINCT ON (i) i, id FROM t ORDER BY i, id DESC
SELECT i, count(*) FROM t GROUP BY ALL
SELECT i, z, count(*) AS n FROM t GROUP BY ROLLUP (i, z)
SELECT i, z, count(*), grouping(i) FROM t GROUP BY CUBE (i, z)
SELECT i, z, count(*) FROM t GROUP BY GROUPING SETS ((i), (z), ())
SELECT z, sum(i) AS total FROM t GROUP BY z HAVING total > 0
SELECT id, i FROM t ORDER BY ALL DESC
SELECT id FROM t ORDER BY i NULLS FIRST, id DESC
SELECT id, i FROM t QUALIFY row_number() OVER (PARTITION BY i ORDER BY id) = 1
SELECT * FROM t JOIN u ON t.i = u.k
SELECT t.id, u.v FROM t LEFT JOIN u ON t.i = u.k
SELECT t.id, v FROM t RIGHT JOIN u ON i = k
SELECT t.id, v FROM t FULL JOIN u ON i = k
SELECT id, v FROM t, u WHERE i = k AND v ~ 's.*'
SELECT id, v FROM t CROSS JOIN u WHERE t.i = 7
SELECT a.id, b.id FROM t a JOIN t b USING (i)
SELECT id FROM t SEMI JOIN u ON i = k
SELECT id FROM t ANTI JOIN u ON i = k
SELECT t.id, u.v FROM t ASOF JOIN u ON t.i = u.k AND t.ts >= u.moment
SELECT t.id, u.v FROM t ASOF LEFT JOIN u ON t.ts >= u.moment
SELECT t.id, u.k FROM t POSITIONAL JOIN u
SELECT * FROM u NATURAL JOIN (SELECT 7 AS k)
SELECT id, q FROM t, LATERAL (SELECT t.i + 1 AS q)
SELECT id, e1 FROM t, unnest(t.l) AS s(e1)
SELECT id, unnest(l) AS e1, unnest(w) FROM t
SELECT unnest(n) FROM t
SELECT unnest(n, recursive := true) FROM t
WITH c AS (SELECT * FROM t WHERE i = 7) SELECT id FROM c
WITH t AS (SELECT id + 100 AS id FROM t) SELECT id FROM t
WITH c AS MATERIALIZED (FROM u), d AS NOT MATERIALIZED (FROM c) FROM d
WITH c(a, b, cc) AS (FROM u) SELECT a, cc FROM c
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) FROM r
WITH RECURSIVE r(n) AS (SELECT i FROM t WHERE id = 1 UNION SELECT n + 1 FROM r WHERE n < 4) FROM r
WITH RECURSIVE c AS (FROM u) FROM c
SELECT k FROM u UNION SELECT i FROM t
SELECT k FROM u UNION ALL SELECT i FROM t
SELECT k FROM u INTERSECT SELECT i FROM t
SELECT k FROM u EXCEPT SELECT i FROM t
SELECT k FROM u EXCEPT ALL SELECT i FROM t
SELECT k, v FROM u UNION BY NAME SELECT s AS v, i AS k FROM t
SELECT k, v FROM u UNION ALL BY NAME SELECT i AS k FROM t
VALUES (1, 'a'), (2, 'b')
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, s)
FROM (FROM u) AS sub SELECT sub.k
SELECT * FROM (SELECT k AS kk FROM u) WHERE kk > 1
(SELECT k FROM u) ORDER BY k
(FROM u) UNION (FROM u)
TABLE u
PIVOT e ON yr IN (2023, 2024) USING sum(q1)
PIVOT e ON yr IN (2023, 2024) USING sum(q1) AS s, max(q2) AS m GROUP BY grp
SELECT * FROM e PIVOT (sum(q1) FOR yr IN (2023, 2024) GROUP BY grp)
FROM (PIVOT e ON yr IN (2023) USING sum(q1)) SELECT *
UNPIVOT e ON q1, q2 INTO NAME quarter VALUE amount
UNPIVOT e ON COLUMNS('q.') INTO NAME quarter VALUE amount
SELECT * FROM e UNPIVOT (amount FOR quarter IN (q1, q2))
SELECT * FROM e UNPIVOT INCLUDE NULLS (amount FOR quarter IN (q1, q2))
SELECT count(*) FROM t USING SAMPLE 100 PERCENT (bernoulli)
SELECT count(*) FROM t TABLESAMPLE reservoir(100%)
SELECT * FROM range(3)
SELECT * FROM range(3) r(a), u
SELECT * FROM generate_series(1, 3)
SELECT * FROM unnest([1, 2, 3])
SELECT i AS p, p + 1 AS q FROM t WHERE q > 5
SELECT s FROM t WHERE s ~ 'N1'
SELECT s FROM t WHERE NOT s !~ 'N1'
SELECT id FROM t WHERE dt = timestamptz '2024-01-01 00:00:00+02'::date
SELECT n.b.c FROM t WHERE n.b.c > 5
SELECT x.n.b.c FROM t x
SELECT t.n.b.c AS c FROM main.t
SELECT main.t.id FROM main.t
SELECT main.t.n.b.c FROM main.t
SELECT t.id FROM main.t WHERE main.t.i = 7
SELECT t.main.t FROM t
SELECT tt.id FROM t AS tt(id, ii) WHERE tt.ii = 7
SELECT (SELECT count(*) FROM u WHERE u.k = t.i) AS c, id FROM t
SELECT (SELECT max(k) FROM u)
SELECT id FROM t WHERE i > ALL (SELECT k FROM u WHERE k < 7)
SELECT id FROM t WHERE EXISTS (FROM u WHERE k = i)
SELECT id FROM t WHERE (i, z) = (7, true)
SELECT sum(i) FILTER (z), list(s ORDER BY id) FROM t
SELECT s, string_agg(DISTINCT s, '|') FROM t GROUP BY s
SELECT any_value(t) FROM t WHERE id = 1
SELECT t FROM t WHERE id = 1
SELECT * LIKE 'i%' FROM t
SELECT * EXCLUDE (n, main) FROM t
SELECT * REPLACE (id * 2 AS id) FROM t
SELECT COLUMNS('^i') + 1 FROM t
SELECT min(COLUMNS(* EXCLUDE (n, main, l, w, m, x, j))) FROM t
SELECT id, CASE WHEN s ~ 'N1' THEN 'full' WHEN s ~ 'N.*' THEN 'part' END AS how FROM t
SELECT id FROM t WHERE list_filter(l, x -> x > 1) <> []
SELECT id FROM t WHERE [x FOR x IN l] = [1, 2]
SELECT id AS "select", i AS "from" FROM t
SELECT 'FOR SYSTEM_TIME AS OF 1' AS text FROM t LIMIT 1
SELECT $$t$$ FROM t LIMIT 1
SELECT id FROM "t" WHERE "t"."i" = 7
SELECT ID FROM T WHERE T.I = 7
DESCRIBE t
DESCRIBE SELECT id, s FROM t
SUMMARIZE u
SELECT * FROM (DESCRIBE u)
SELECT id FROM t ORDER BY id FETCH FIRST 2 ROWS ONLY
SELECT 1; -- the end
SELECT id, lead(id) OVER w FROM t WINDOW w AS (ORDER BY id)
SELECT t1.id FROM t t1, t t2 WHERE t1.id = t2.id AND t1.i = 7 AND t2.z
FROM t t1 LEFT JOIN u ON i = k SELECT id WHERE v IS NULL
SELECT id FROM t WHERE i = 7 UNION ALL SELECT id FROM t WHERE i = 1
SELECT id FROM (SELECT * FROM t WHERE z) WHERE i = 7
SELECT * FROM (t JOIN u ON i = k)
""".strip().split("\n")
STATEMENTS += [
    "SELECT id -- comment with 'quote\nFROM t /* FOR SYSTEM_TIME AS OF 1 */",
    "SELECT id\n  FROM\tt\nWHERE\n  i = 7\n;\n",
    "SELECT 'é' AS \"é\", id, s FROM t WHERE s <> 'é' AND n.b.c > 1",
]
