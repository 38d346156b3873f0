"""Statements as analysts write them, on five small public tables, and statements that must be refused with their words.

The tables are shaped like those of other tools' documentation and tests: a census sample (SmartNoise), visits to a
restaurant (PipelineDP), members of a library (Tumult), a line item (TPC-H), and hospital stays. The statements are our own.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from jostle.schema import Boolean, Category, Date, Integer, Real, Schema
from jostle.tables.unit import Unit

RNG = np.random.default_rng(20)
N = 600


def days(first: str, number: int) -> list[date]:
    return [date.fromisoformat(first) + timedelta(days=int(day)) for day in RNG.integers(0, number, N)]


def names(*words: str) -> Category:
    return Category(words, outside="drop", null="drop")


YES_NO = Boolean(outside="drop", null="drop")
GENRES = RNG.choice(["crime", "poetry", "history", None], N, p=[0.4, 0.2, 0.3, 0.1]).tolist()

TABLES: dict[str, tuple[pa.Table, Schema, Unit | None]] = {
    "pums": (
        pa.table(
            {
                "pid": np.arange(N),
                "age": RNG.integers(18, 91, N),
                "sex": RNG.choice(["F", "M"], N),
                "educ": RNG.integers(1, 9, N),
                "race": RNG.choice(["a", "b", "c"], N),
                "income": RNG.gamma(2, 20_000, N).clip(0, 200_000).round(),
                "married": RNG.choice([True, False], N),
            }
        ),
        Schema(
            age=Integer(18, 90),
            sex=names("F", "M"),
            educ=Integer(1, 8),
            race=names("a", "b", "c"),
            income=Real(0, 200_000, bins=50),
            married=YES_NO,
        ),
        Unit("pid", max_rows=1),
    ),
    "visits": (
        pa.table(
            {
                "visitor": RNG.integers(0, 150, N),
                "day": RNG.integers(1, 8, N),
                "minutes": RNG.integers(5, 120, N),
                "spent": RNG.integers(0, 60, N),
            }
        ),
        Schema(day=Integer(1, 7), minutes=Integer(0, 120), spent=Integer(0, 60)),
        Unit("visitor", max_rows=20),
    ),
    "library": (
        pa.table(
            {
                "age": RNG.integers(6, 96, N),
                "gender": RNG.choice(["male", "female", "nonbinary"], N, p=[0.45, 0.45, 0.1]),
                "education": RNG.choice(["school", "college", "master"], N),
                "zip_code": RNG.choice(["27513", "27514", "27601"], N),
                "books": RNG.poisson(9, N).clip(0, 40),
                "genre": pa.array(GENRES, pa.string()),
                "joined": days("2015-01-01", 1461),
            }
        ),
        Schema(
            age=Integer(0, 99),
            gender=names("male", "female", "nonbinary"),
            education=names("school", "college", "master"),
            zip_code=names("27513", "27514", "27601"),
            books=Integer(0, 40),
            genre=Category(["crime", "poetry", "history"], outside="drop", null="own"),
            joined=Date("2015-01-01", "2018-12-31", every="month"),
        ),
        None,
    ),
    "lineitem": (
        pa.table(
            {
                "quantity": RNG.integers(1, 51, N),
                "extendedprice": (RNG.uniform(900, 100_000, N)).round(2),
                "discount": RNG.integers(0, 11, N) / 100,
                "tax": RNG.integers(0, 9, N) / 100,
                "returnflag": RNG.choice(["A", "N", "R"], N),
                "linestatus": RNG.choice(["O", "F"], N),
                "shipdate": days("1994-01-01", 1095),
                "shipmode": RNG.choice(["AIR", "MAIL", "RAIL", "SHIP"], N),
            }
        ),
        Schema(
            quantity=Integer(1, 50),
            extendedprice=Real(0, 105_000, bins=50),
            discount=Real(0, 0.1, bins=10),
            tax=Real(0, 0.08, bins=8),
            returnflag=names("A", "N", "R"),
            linestatus=names("O", "F"),
            shipdate=Date("1994-01-01", "1996-12-31", every="month"),
            shipmode=names("AIR", "MAIL", "RAIL", "SHIP"),
        ),
        None,
    ),
    "stays": (
        pa.table(
            {
                "patient": RNG.integers(0, 200, N),
                "ward": RNG.choice(["er", "icu", "cardiology"], N),
                "sex": RNG.choice(["F", "M"], N),
                "age": RNG.integers(0, 90, N),
                "cost": RNG.gamma(2, 400, N).clip(0, 5000).round(2),
                "nights": RNG.integers(0, 31, N),
                "admitted": days("2022-01-03", 728),
                "smoker": RNG.choice([True, False], N),
                "weight": pa.array([None if RNG.uniform() < 0.2 else float(w) for w in RNG.uniform(40, 140, N).round(1)]),
            }
        ),
        Schema(
            ward=names("er", "icu", "cardiology"),
            sex=names("F", "M"),
            age=Integer(0, 89),
            cost=Real(0, 5000, bins=50),
            nights=Integer(0, 30),
            admitted=Date("2022-01-03", "2023-12-31", every="month"),
            smoker=YES_NO,
            weight=Real(40, 140, bins=20),
        ),
        Unit("patient", max_rows=20),
    ),
}

LOOKUPS: dict[str, Any] = {
    "regions": {"zip": ["27513", "27514", "27601"], "region": ["Cary", "Chapel Hill", "Raleigh"], "rate": [1.0, 2.5, 4.0]},
    "floors": {"ward": ["er", "icu", "cardiology", "morgue"], "floor": [0, 1, 1, -1]},
}


class Statement(NamedTuple):
    """A statement, and what else the comparison needs to know."""

    text: str
    truth: str = ""
    """Another statement that has the same answer without noise, where this one has a meaning of its own."""

    near: float = 0.01
    """How far off, relative to the truth, an answer may be."""


def of(text: str, truth: str = "", near: float = 0.01) -> Statement:
    return Statement(" ".join(text.split()), truth, near)


CENSUS = [
    of("SELECT COUNT(*) FROM pums"),
    of("SELECT COUNT(*) AS n FROM pums AS p"),
    of("SELECT COUNT(pid) AS n FROM pums"),
    of("SELECT COUNT(DISTINCT pid) AS n FROM pums"),
    of("SELECT COUNT(age) FROM pums"),
    of("SELECT SUM(age) FROM pums"),
    of("SELECT SUM(age) AS age FROM pums"),
    of("SELECT (SUM(age)) AS age FROM pums"),
    of("SELECT SUM(age) * 1 AS age FROM pums"),
    of("SELECT SUM(age), COUNT(*) FROM pums"),
    of("SELECT COUNT(*), VAR_POP(age) AS var_age FROM pums"),
    of("SELECT VARIANCE(age) FROM pums"),
    of("SELECT STDDEV(income) AS s FROM pums"),
    of("SELECT STDDEV_POP(income), STDDEV_SAMP(income) FROM pums"),
    of("SELECT married, AVG(age) FROM pums GROUP BY married"),
    of("SELECT p.married, AVG(age) AS aa FROM pums AS p GROUP BY married"),
    of("SELECT married, educ, AVG(age) FROM pums GROUP BY married, educ"),
    of("SELECT educ, AVG(income) FROM pums GROUP BY educ ORDER BY AVG(income) DESC LIMIT 5"),
    of("SELECT COUNT(married), AVG(age) FROM pums"),
    of("SELECT 3 AS three, p.married, educ, AVG(income) FROM pums AS p GROUP BY educ, married"),
    of("SELECT POWER(AVG(age), 2) FROM pums"),
    of("SELECT SQRT(AVG(age * age) - AVG(age) * AVG(age)) FROM pums"),
    of("SELECT SUM(age) FROM pums GROUP BY married, CASE WHEN age > 65 THEN 1 ELSE 0 END ORDER BY 1"),
    of("SELECT SUM(age + 1) * 1 AS age FROM pums"),
    of("SELECT SUM(age + income) FROM pums"),
    of("SELECT SUM(CASE WHEN age > 80 THEN 1 ELSE 0 END) AS old FROM pums"),
    of("SELECT COUNT(*) FROM (SELECT * FROM pums) AS q"),
    of("SELECT AVG(income) AS mean, SUM(income) / COUNT(*) AS ratio FROM pums WHERE age BETWEEN 30 AND 50"),
    of("SELECT sex, race, COUNT(*) AS n, AVG(income) AS income FROM pums GROUP BY sex, race ORDER BY sex, race"),
    of("SELECT educ, COUNT(*) AS n FROM pums GROUP BY educ HAVING COUNT(*) > 70 ORDER BY educ"),
    of("SELECT MEDIAN(income) AS m FROM pums"),
    of("SELECT MEDIAN(age), QUANTILE_CONT(age, 0.9) FROM pums", near=0.03),
    of("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY income) AS q1 FROM pums"),
    of("SELECT sex, MEDIAN(income) AS m FROM pums GROUP BY sex"),
    of("SELECT married, COUNT(*) AS n FROM pums WHERE educ >= 5 AND sex = 'F' GROUP BY married"),
    of("SELECT COUNT(*) FROM pums WHERE married"),
    of("SELECT COUNT(*) FROM pums WHERE NOT married AND race IN ('a', 'b')"),
    of("SELECT COUNT(*) FROM pums WHERE married = TRUE OR age < 30"),
    of("SELECT COUNT(*) FROM pums WHERE race <> 'c' AND income > 50000"),
    of("SELECT COUNT(*) FROM pums WHERE age NOT BETWEEN 30 AND 60"),
    of("SELECT COUNT(*) FROM pums WHERE race NOT IN ('a')"),
    of("SELECT COUNT(*) * 2 + 1 AS n FROM pums"),
    of("SELECT sex AS gender, COUNT(*) AS n FROM pums GROUP BY gender"),
    of("SELECT sex AS gender, COUNT(*) AS n FROM pums GROUP BY 1 ORDER BY 2 DESC"),
    of('SELECT "sex", COUNT(*) AS "number of people" FROM "pums" GROUP BY "sex"'),
    of("SELECT AGE, count(*) AS N FROM PUMS WHERE Sex = 'M' GROUP BY Age ORDER BY Age"),
]

VISITS = [
    of("SELECT day, COUNT(*) AS visits FROM visits GROUP BY day ORDER BY day"),
    of("SELECT day, COUNT(DISTINCT visitor) AS people FROM visits GROUP BY day"),
    of("SELECT day, SUM(spent) AS revenue FROM visits GROUP BY day ORDER BY revenue DESC"),
    of("SELECT day, AVG(minutes) AS stay FROM visits GROUP BY day"),
    of("SELECT day, COUNT(*), COUNT(DISTINCT visitor), SUM(spent), AVG(minutes) FROM visits GROUP BY day"),
    of("SELECT COUNT(DISTINCT visitor) FROM visits"),
    of("SELECT APPROX_COUNT_DISTINCT(visitor) AS people FROM visits", "SELECT COUNT(DISTINCT visitor) FROM visits"),
    of("SELECT COUNT(DISTINCT visitor) AS people FROM visits WHERE spent > 20"),
    of("SELECT SUM(spent) FROM visits WHERE day IN (6, 7)"),
    of("SELECT SUM(spent) / COUNT(DISTINCT visitor) AS per_person FROM visits"),
    of("SELECT SUM(spent) * 1.0 / NULLIF(SUM(minutes), 0) AS rate FROM visits"),
    of("SELECT day, VAR_POP(spent) AS v FROM visits GROUP BY day"),
    of("SELECT day, SUM(minutes) / 60.0 AS hours FROM visits GROUP BY day ORDER BY hours DESC LIMIT 3"),
    of("SELECT CASE WHEN day <= 5 THEN 'week' ELSE 'weekend' END AS part, COUNT(*) AS n FROM visits GROUP BY part"),
    of("SELECT day >= 6 AS weekend, AVG(spent) AS spent FROM visits GROUP BY weekend"),
    of("SELECT FLOOR(minutes / 30) * 30 AS half_hours, COUNT(*) FROM visits GROUP BY half_hours ORDER BY half_hours"),
    of("SELECT minutes // 30 AS slot, COUNT(*) FROM visits GROUP BY slot ORDER BY slot"),
    of("SELECT day % 2 AS odd, COUNT(*) FROM visits GROUP BY odd"),
    of("SELECT COUNT(*) FILTER (WHERE spent > 30) AS large, COUNT(*) AS every FROM visits"),
    of("SELECT day, COUNT(*) FILTER (WHERE spent > 30) AS large FROM visits GROUP BY day"),
    of("SELECT COUNT_IF(spent > 30) AS large FROM visits"),
    of("SELECT AVG(spent) FILTER (WHERE minutes > 60) AS slow, AVG(spent) AS every FROM visits"),
    of("SELECT AVG(CASE WHEN spent > 30 THEN 1.0 ELSE 0.0 END) AS part FROM visits"),
    of("SELECT SUM(IF(spent > 30, spent, 0)) AS large FROM visits"),
    of("SELECT ROUND(AVG(spent), 2) AS mean, CEIL(AVG(minutes)) AS minutes FROM visits"),
    of("SELECT day, ROUND(100.0 * COUNT(*) FILTER (WHERE spent > 30) / COUNT(*), 1) AS percent FROM visits GROUP BY day"),
    of("SELECT COUNT(DISTINCT CASE WHEN spent > 40 THEN visitor END) AS people FROM visits"),
    of(
        "SELECT MIN(spent) AS low, MAX(spent) AS high FROM visits",
        "SELECT quantile_disc(spent, 0.01), quantile_disc(spent, 0.99) FROM visits",
        near=0.05,
    ),
    of("SELECT day, MEDIAN(spent) AS m, COUNT(*) AS n FROM visits GROUP BY day", near=0.06),
    of("WITH busy AS (SELECT day, spent FROM visits WHERE minutes > 45) SELECT day, SUM(spent) AS s FROM busy GROUP BY day"),
]

LIBRARY = [
    of("SELECT COUNT(*) FROM library WHERE age < 18"),
    of("SELECT education, COUNT(*) AS members FROM library GROUP BY education ORDER BY members DESC"),
    of("SELECT gender, education, COUNT(*) AS n FROM library GROUP BY gender, education ORDER BY gender, education"),
    of("SELECT AVG(books) FROM library"),
    of("SELECT education, AVG(books) AS books FROM library GROUP BY education"),
    of("SELECT education, SUM(books) AS books, STDDEV_POP(books) AS spread FROM library GROUP BY education"),
    of("SELECT zip_code, QUANTILE_CONT(age, 0.75) AS q FROM library GROUP BY zip_code", near=0.05),
    of("SELECT genre, COUNT(*) AS n FROM library GROUP BY genre"),
    of("SELECT COUNT(*), COUNT(genre) FROM library"),
    of("SELECT COUNT(*) FROM library WHERE genre IS NULL"),
    of("SELECT COUNT(*) FROM library WHERE genre IS NOT NULL AND education = 'master'"),
    of("SELECT COALESCE(genre, 'unknown') AS genre, COUNT(*) AS n FROM library GROUP BY COALESCE(genre, 'unknown')"),
    of("SELECT UPPER(education) AS e, COUNT(*) AS n FROM library GROUP BY e"),
    of("SELECT COUNT(*) FROM library WHERE education LIKE 'c%'"),
    of("SELECT COUNT(*) FROM library WHERE education ILIKE 'MAS%'"),
    of("SELECT FLOOR(age / 10) * 10 AS decade, AVG(books) FROM library GROUP BY decade ORDER BY decade"),
    of(
        "SELECT CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS who, COUNT(*) AS n, "
        "AVG(books) AS books FROM library GROUP BY who ORDER BY n DESC"
    ),
    of("SELECT CASE education WHEN 'school' THEN 1 WHEN 'college' THEN 2 ELSE 3 END AS l, COUNT(*) FROM library GROUP BY 1"),
    of("SELECT DATE_TRUNC('year', joined) AS y, COUNT(*) AS n FROM library GROUP BY y ORDER BY y"),
    of("SELECT DATE_TRUNC('month', joined) AS m, COUNT(*) AS n FROM library GROUP BY m ORDER BY m"),
    of("SELECT DATE_TRUNC('quarter', joined) AS q, SUM(books) FROM library GROUP BY q ORDER BY q"),
    of("SELECT DATE_TRUNC('week', joined) AS w, COUNT(*) AS n FROM library WHERE joined < '2015-03-01' GROUP BY w"),
    of("SELECT EXTRACT(YEAR FROM joined) AS y, COUNT(*) FROM library GROUP BY EXTRACT(YEAR FROM joined) ORDER BY y"),
    of("SELECT YEAR(joined) AS y, MONTH(joined) AS m, COUNT(*) AS n FROM library GROUP BY y, m ORDER BY y, m"),
    of("SELECT DATE_PART('month', joined) AS m, AVG(books) FROM library GROUP BY m"),
    of("SELECT EXTRACT(DOW FROM joined) AS weekday, COUNT(*) FROM library GROUP BY weekday"),
    of("SELECT EXTRACT(ISODOW FROM joined) AS weekday, COUNT(*) FROM library GROUP BY weekday"),
    of("SELECT QUARTER(joined) AS q, COUNT(*) FROM library GROUP BY q"),
    of("SELECT strftime(joined, '%Y-%m') AS month, COUNT(*) AS n FROM library GROUP BY month ORDER BY month"),
    of("SELECT COUNT(*) FROM library WHERE joined >= DATE '2016-01-01' AND joined < DATE '2017-01-01'"),
    of("SELECT COUNT(*) FROM library WHERE joined BETWEEN '2016-01-01' AND '2016-06-30'"),
    of("SELECT COUNT(*) FROM library WHERE YEAR(joined) = 2017"),
    of("SELECT COUNT(*) FROM library WHERE DATE_TRUNC('month', joined) = DATE '2016-05-01'"),
    of("SELECT COUNT(*) FROM library WHERE DATE_TRUNC('year', joined) > DATE '2016-01-01'"),
    of("SELECT region, COUNT(*) AS n FROM library JOIN regions ON library.zip_code = regions.zip GROUP BY region"),
    of("SELECT r.region, AVG(l.books) AS books FROM library l JOIN regions r ON l.zip_code = r.zip GROUP BY r.region"),
    of("SELECT r.region, l.gender, COUNT(*) FROM library l LEFT JOIN regions r ON r.zip = l.zip_code GROUP BY 1, 2"),
    of("SELECT SUM(r.rate * l.books) AS cost FROM library AS l INNER JOIN regions AS r ON l.zip_code = r.zip"),
    of("SELECT COUNT(*) FROM library l JOIN regions r ON l.zip_code = r.zip WHERE r.region = 'Raleigh'"),
]

LINEITEM = [
    of(
        "SELECT returnflag, linestatus, SUM(quantity) AS sum_qty, SUM(extendedprice) AS sum_base_price, "
        "SUM(extendedprice * (1 - discount)) AS sum_disc_price, SUM(extendedprice * (1 - discount) * (1 + tax)) AS charge, "
        "AVG(quantity) AS avg_qty, AVG(extendedprice) AS avg_price, AVG(discount) AS avg_disc, COUNT(*) AS count_order "
        "FROM lineitem WHERE shipdate <= DATE '1996-12-01' - INTERVAL '90' DAY "
        "GROUP BY returnflag, linestatus ORDER BY returnflag, linestatus"
    ),
    of(
        "SELECT SUM(extendedprice * discount) AS revenue FROM lineitem WHERE shipdate >= DATE '1994-01-01' "
        "AND shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24"
    ),
    of(
        "SELECT shipmode, SUM(CASE WHEN returnflag = 'R' THEN 1 ELSE 0 END) AS returned, "
        "SUM(CASE WHEN returnflag <> 'R' THEN 1 ELSE 0 END) AS kept FROM lineitem "
        "WHERE shipmode IN ('MAIL', 'SHIP') GROUP BY shipmode ORDER BY shipmode"
    ),
    of(
        "SELECT 100.00 * SUM(CASE WHEN shipmode LIKE 'A%' THEN extendedprice * (1 - discount) ELSE 0 END) "
        "/ SUM(extendedprice * (1 - discount)) AS promo FROM lineitem"
    ),
    of("SELECT AVG(quantity) * 0.2 AS threshold FROM lineitem"),
    of("SELECT SUM(extendedprice) / 7.0 AS yearly FROM lineitem WHERE quantity < 20"),
    of(
        "SELECT EXTRACT(YEAR FROM shipdate) AS l_year, SUM(extendedprice * (1 - discount)) AS volume "
        "FROM lineitem GROUP BY l_year ORDER BY l_year"
    ),
    of("SELECT shipmode, COUNT(*) AS n FROM lineitem GROUP BY shipmode HAVING SUM(quantity) > 3000"),
    of(
        "SELECT l_year, SUM(volume) AS v FROM (SELECT EXTRACT(YEAR FROM shipdate) AS l_year, extendedprice * (1 - discount) "
        "AS volume FROM lineitem WHERE returnflag = 'A') AS shipping GROUP BY l_year ORDER BY l_year"
    ),
    of("SELECT returnflag, STDDEV_POP(extendedprice) AS s FROM lineitem GROUP BY returnflag"),
    of("SELECT shipmode, SUM(extendedprice) AS s, SUM(extendedprice) / SUM(quantity) AS p FROM lineitem GROUP BY shipmode"),
    of("SELECT shipmode, AVG(extendedprice - extendedprice * discount) AS net FROM lineitem GROUP BY shipmode"),
    of("SELECT COUNT(*) FROM lineitem WHERE extendedprice * discount > 5000"),
    of("SELECT quantity, COUNT(*) AS n FROM lineitem WHERE quantity <= 10 GROUP BY quantity ORDER BY quantity LIMIT 10"),
    of("SELECT CAST(quantity / 10 AS INTEGER) AS tens, COUNT(*) FROM lineitem WHERE quantity < 5 GROUP BY tens"),
    of("SELECT ROUND(discount, 1) AS d, COUNT(*) FROM lineitem WHERE discount < 0.04 GROUP BY d"),
    of(
        "SELECT TOP 2 shipmode, COUNT(*) AS n FROM lineitem GROUP BY shipmode ORDER BY n DESC",
        "SELECT shipmode, COUNT(*) AS n FROM lineitem GROUP BY shipmode ORDER BY n DESC LIMIT 2",
    ),
    of(
        "SELECT `shipmode`, COUNT(*) AS n FROM `lineitem` GROUP BY `shipmode`",
        "SELECT shipmode, COUNT(*) AS n FROM lineitem GROUP BY shipmode",
    ),
    of("SELECT linestatus, COUNT(*) AS n FROM lineitem WHERE shipdate > '1995-06-17' GROUP BY linestatus ORDER BY n"),
    of("SELECT returnflag || '/' || linestatus AS k, COUNT(*) AS n FROM lineitem GROUP BY returnflag, linestatus"),
    of("SELECT * FROM (SELECT shipmode, COUNT(*) AS n FROM lineitem GROUP BY shipmode) AS t WHERE n > 140 ORDER BY n DESC"),
    of("WITH t AS (SELECT shipmode, COUNT(*) AS n FROM lineitem GROUP BY shipmode) SELECT shipmode, n * 2 AS twice FROM t"),
    of(
        "SELECT SUM(quantity) AS q FROM lineitem WHERE (shipmode = 'AIR' AND quantity >= 1 AND quantity <= 11) "
        "OR (shipmode = 'RAIL' AND quantity BETWEEN 10 AND 20)"
    ),
    of("SELECT LEAST(COUNT(*), 100) AS a, GREATEST(COUNT(*), 1000) AS b FROM lineitem"),
    of("SELECT shipmode, QUANTILE_CONT(extendedprice, 0.5) AS m FROM lineitem GROUP BY shipmode", near=0.02),
    of(
        "SELECT APPROX_QUANTILE(extendedprice, 0.9) AS q FROM lineitem",
        "SELECT quantile_cont(extendedprice, 0.9) FROM lineitem",
    ),
]

STAYS = [
    of(
        "SELECT ward, sex, COUNT(*) AS n, COUNT(DISTINCT patient), AVG(cost), STDDEV(cost), SUM(cost)/COUNT(*), "
        "MEDIAN(cost), QUANTILE_CONT(cost, .9) FROM stays WHERE age > 10 "
        "GROUP BY ward, sex HAVING n > 50 ORDER BY n DESC, ward, sex LIMIT 10",
        near=0.06,
    ),
    of("SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward ORDER BY n DESC LIMIT 2"),
    of("SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward ORDER BY n DESC LIMIT 1 OFFSET 1"),
    of("SELECT COUNT(DISTINCT patient) AS patients, COUNT(*) AS stays FROM stays"),
    of("SELECT COUNT(*) / COUNT(DISTINCT patient) AS stays_per_patient FROM stays"),
    of("SELECT ward, AVG(nights) AS nights FROM stays WHERE smoker GROUP BY ward"),
    of("SELECT smoker, AVG(cost) AS cost FROM stays GROUP BY smoker"),
    of("SELECT AVG(smoker::int) AS smokers FROM stays"),
    of("SELECT ward, AVG(CAST(smoker AS INTEGER)) AS part FROM stays GROUP BY ward"),
    of("SELECT ward, SUM(cost * 1.081) AS gross FROM stays GROUP BY ward"),
    of("SELECT ward, AVG(cost / 1000) AS thousands FROM stays GROUP BY ward"),
    of("SELECT SUM(nights * 250 + cost) AS total FROM stays"),
    of("SELECT AVG(weight) AS kg, COUNT(weight) AS weighed FROM stays"),
    of("SELECT ward, COUNT(*) - COUNT(weight) AS not_weighed FROM stays GROUP BY ward"),
    of("SELECT COUNT(*) FROM stays WHERE weight IS NULL"),
    of("SELECT AVG(weight) * 2.2046 AS pounds FROM stays WHERE sex = 'F'"),
    of("SELECT MEDIAN(weight) AS m FROM stays"),
    of("SELECT AVG(ABS(age - 45)) AS away FROM stays"),
    of("SELECT DATE_TRUNC('month', admitted) AS month, COUNT(*) AS n, AVG(cost) AS c FROM stays GROUP BY month ORDER BY 1"),
    of("SELECT DATE_TRUNC('day', admitted) AS d, COUNT(*) AS n FROM stays WHERE admitted < '2022-02-01' GROUP BY d"),
    of("SELECT DATE_TRUNC('week', admitted) AS w, COUNT(*) AS n FROM stays GROUP BY w ORDER BY w LIMIT 4"),
    of("SELECT EXTRACT(MONTH FROM admitted) AS month, ward, COUNT(*) AS n FROM stays GROUP BY month, ward"),
    of("SELECT age >= 65 AS old, ward, COUNT(*) AS n FROM stays GROUP BY ALL"),
    of("SELECT age >= 18 AND age < 65 AS working, AVG(nights) AS nights FROM stays GROUP BY working"),
    of("SELECT ward IN ('er', 'icu') AS urgent, COUNT(*) AS n FROM stays GROUP BY urgent"),
    of("SELECT nights BETWEEN 1 AND 7 AS short, COUNT(*) FROM stays GROUP BY short"),
    of("SELECT FLOOR(cost / 1000) * 1000 AS k, COUNT(*) AS n FROM stays GROUP BY k ORDER BY k"),
    of("SELECT ROUND(age / 10.0) AS tens, COUNT(*) AS n FROM stays GROUP BY tens ORDER BY tens"),
    of("SELECT age - age % 20 AS from_age, COUNT(*) AS n FROM stays GROUP BY from_age ORDER BY from_age"),
    of("SELECT LEFT(ward, 1) AS w, COUNT(*) AS n FROM stays GROUP BY ward"),
    of("SELECT ward, COUNT(*) AS n, CASE WHEN COUNT(*) > 200 THEN 'many' ELSE 'few' END AS size FROM stays GROUP BY ward"),
    of("SELECT ward, COALESCE(SUM(cost) / NULLIF(COUNT(*), 0), 0) AS mean FROM stays GROUP BY ward"),
    of("SELECT ward, ROUND(AVG(cost), -1) AS mean, FLOOR(AVG(nights)) AS nights FROM stays GROUP BY ward"),
    of("SELECT ward, LN(COUNT(*)) AS l, EXP(AVG(nights) / 30) AS e FROM stays GROUP BY ward"),
    of("SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward HAVING AVG(cost) > 500 AND COUNT(*) > 10 ORDER BY ward"),
    of("SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward HAVING ward <> 'er' ORDER BY ward DESC"),
    of("SELECT ward, AVG(cost) AS c FROM stays GROUP BY ward ORDER BY AVG(cost) / AVG(nights) DESC"),
    of("SELECT ward, AVG(cost) AS c FROM stays GROUP BY ward ORDER BY c * -1"),
    of("SELECT DISTINCT ward, COUNT(*) AS n FROM stays GROUP BY ward"),
    of("SELECT COUNT(*) AS n, n * 100 AS cents FROM stays"),
    of(
        "SELECT ward, SUM(CASE WHEN smoker THEN cost ELSE 0 END) AS s, SUM(CASE WHEN NOT smoker THEN cost ELSE 0 END) AS t "
        "FROM stays GROUP BY ward"
    ),
    of("SELECT AVG(CASE WHEN ward = 'icu' THEN cost END) AS icu, AVG(CASE WHEN ward = 'er' THEN cost END) AS er FROM stays"),
    of(
        "SELECT AVG(CASE WHEN sex = 'F' THEN cost END) - AVG(CASE WHEN sex = 'M' THEN cost END) AS gap FROM stays", near=0.05
    ),
    of("SELECT floor, COUNT(*) AS n FROM stays JOIN floors USING (ward) GROUP BY floor"),
    of("SELECT f.floor, AVG(s.cost) AS c FROM stays AS s JOIN floors AS f ON s.ward = f.ward WHERE s.age > 30 GROUP BY 1"),
    of(
        "WITH old AS (SELECT * FROM stays WHERE age >= 60), dear AS (SELECT ward, cost FROM old WHERE cost > 500) "
        "SELECT ward, COUNT(*) AS n FROM dear GROUP BY ward"
    ),
    of(
        "SELECT w, AVG(c) AS c FROM (SELECT ward AS w, cost * 2 AS c, smoker FROM stays WHERE nights > 2) AS q "
        "WHERE smoker GROUP BY w"
    ),
    of("SELECT COUNT(*) FROM (SELECT ward FROM (SELECT * FROM stays WHERE sex = 'F') AS a WHERE age < 50) AS b"),
    of("SELECT ward, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY nights) AS m FROM stays GROUP BY ward", near=0.08),
    of(
        "SELECT ward, MIN(cost) AS low, MAX(cost) AS high FROM stays GROUP BY ward",
        "SELECT ward, quantile_cont(cost, 0.01), quantile_cont(cost, 0.99) FROM stays GROUP BY ward",
        near=0.25,
    ),
    of("SELECT COUNT(*) FROM stays WHERE sex = 'F' AND (ward = 'er' OR ward = 'icu') AND NOT smoker"),
]

TYPICAL = [*CENSUS, *VISITS, *LIBRARY, *LINEITEM, *STAYS]
"""What analysts type, and should be answered."""

REFUSED = [
    ("SELECT * FROM stays", r"SELECT \* would show rows"),
    ("SELECT s.* FROM stays s", r"would show rows"),
    ("SELECT age FROM stays", "SELECT age would show rows"),
    ("SELECT ward, age, COUNT(*) FROM stays GROUP BY ward", "SELECT age would show rows"),
    ("SELECT patient FROM stays", "names persons"),
    ("SELECT patient, COUNT(*) FROM stays GROUP BY patient", "one row per person"),
    ("SELECT ward FROM stays GROUP BY ward", "the schema has the list"),
    ("SELECT DISTINCT ward FROM stays", "SELECT ward would show rows"),
    ("SELECT COUNT(DISTINCT ward) FROM stays", r"COUNT\(DISTINCT ward\) counts values of a column"),
    ("SELECT COUNT(DISTINCT ward, sex) FROM stays", "counts values of a column"),
    ("SELECT APPROX_COUNT_DISTINCT(ward) FROM stays", "counts values of a column"),
    ("SELECT SUM(DISTINCT cost) FROM stays", "aggregates values, not rows"),
    ("SELECT COUNT(*) OVER () FROM stays", "window function"),
    ("SELECT ward, RANK() OVER (ORDER BY COUNT(*)) FROM stays GROUP BY ward", "window function"),
    ("SELECT COUNT(*) FROM stays UNION SELECT COUNT(*) FROM stays", "UNION puts rows of several queries together"),
    ("SELECT COUNT(*) FROM stays EXCEPT SELECT 1", "EXCEPT puts rows"),
    ("SELECT COUNT(*) FROM stays WHERE cost > (SELECT AVG(cost) FROM stays)", r"sub-query .* in WHERE looks at other rows"),
    ("SELECT COUNT(*) FROM stays s WHERE EXISTS (SELECT 1 FROM stays t WHERE t.age = s.age)", "looks at other rows"),
    ("SELECT COUNT(*) FROM stays WHERE ward IN (SELECT ward FROM stays)", "looks at other rows"),
    ("SELECT (SELECT COUNT(*) FROM stays)", "in SELECT looks at other rows"),
    ("SELECT COUNT(*) FROM stays a JOIN stays b ON a.age = b.age", "joins private rows"),
    ("SELECT COUNT(*) FROM stays, stays", "joins private rows"),
    ("SELECT COUNT(*) FROM stays JOIN others ON stays.ward = others.ward", "FROM names 'others'"),
    ("SELECT COUNT(*) FROM stays JOIN floors ON stays.age > floors.floor", "needs one equality"),
    ("SELECT COUNT(*) FROM stays FULL JOIN floors USING (ward)", "FULL JOIN is not supported"),
    ("SELECT COUNT(*) FROM elsewhere", "FROM names 'elsewhere'"),
    ("SELECT COUNT(*) FROM stays TABLESAMPLE (10 PERCENT)", "TABLESAMPLE is not supported"),
    ("SELECT COUNT(*) FROM (SELECT * FROM stays LIMIT 10) q", "LIMIT in a sub-query in FROM would let one row decide"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM stays) q", "DISTINCT in a sub-query in FROM"),
    ("SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM stays GROUP BY patient) q", "an aggregate of aggregates"),
    ("SELECT SUM(COUNT(*)) FROM stays GROUP BY ward", "aggregate of an aggregate"),
    ("SELECT COUNT(*) FROM stays WHERE COUNT(*) > 3", "write the condition on aggregates after HAVING"),
    ("SELECT COUNT(*) FROM stays GROUP BY ROLLUP (ward)", "ROLLUP"),
    ("SELECT ward, sex, COUNT(*) FROM stays GROUP BY CUBE (ward, sex)", "CUBE"),
    ("SELECT ward, COUNT(*) FROM stays GROUP BY GROUPING SETS ((ward), ())", "GROUPING SETS"),
    ("SELECT cost * 2 AS c, COUNT(*) FROM stays GROUP BY c", "no short list of values"),
    ("SELECT COUNT(*) FROM stays QUALIFY COUNT(*) > 3", "QUALIFY"),
    ("SELECT DISTINCT ON (ward) ward, COUNT(*) FROM stays GROUP BY ward", "DISTINCT ON"),
    ("SELECT ANY_VALUE(age) FROM stays", "shows a value of one row"),
    ("SELECT ARRAY_AGG(age) FROM stays", "shows the rows' values"),
    ("SELECT STRING_AGG(ward, ',') FROM stays", "shows the rows' values"),
    ("SELECT MODE(ward) FROM stays", "shows a value that rows have"),
    ("SELECT BOOL_OR(smoker) FROM stays", "shows whether there is such a row"),
    ("SELECT CORR(age, cost) FROM stays", r"CORR\(age, cost\) is not supported"),
    ("SELECT SUM(ward) FROM stays", "'ward' is not declared as numbers"),
    ("SELECT SUM(cost / nights) FROM stays", "divides by what may be zero"),
    ("SELECT AVG(CAST(ward AS INTEGER)) FROM stays", "would fail on some values"),
    ("SELECT COUNT(*) FROM stays WHERE ward = 'ICU'", "did you mean 'icu'"),
    ("SELECT COUNT(*) FROM stays WHERE ward IN ('er', 'cardiologie')", "did you mean 'cardiology'"),
    ("SELECT COUNT(*) FROM stays WHERE cost > 100000", "'cost' is declared from 0 to 5000"),
    ("SELECT COUNT(*) FROM stays WHERE age BETWEEN 200 AND 300", "'age' is declared from 0 to 89"),
    ("SELECT COUNT(*) FROM stays WHERE admitted >= '2031-01-01'", "'admitted' is declared from 2022-01-03 to 2023-12-31"),
    ("SELECT COUNT(*) FILTER (WHERE ward = 'nowhere') FROM stays", "not among the categories"),
    ("SELECT SUM(CASE WHEN ward = 'nowhere' THEN 1 ELSE 0 END), COUNT(*) FROM stays", "not among the categories"),
    ("SELECT COUNT(*) FROM stays WHERE age = 'old'", "compares"),
    ("SELECT COUNT(*) FROM stays WHERE height > 3", "'height', which is not in the schema"),
    ("SELECT ward, COUNT(*) FROM stays GROUP BY height", "'height', which is not in the schema"),
    ("SELECT ward, COUNT(*) FROM stays GROUP BY 3", "not one of the 2 selected columns"),
    ("SELECT COUNT(*) FROM stays LIMIT 'x'", "LIMIT"),
    ("SELECT COUNT(*) FROM stays ORDER BY age", "ORDER BY age would show rows"),
    ("SELECT ward + 1, COUNT(*) FROM stays GROUP BY ward", "makes no sense"),
    ("SELECT QUANTILE_CONT(cost, 2) FROM stays", "level between 0 and 1"),
    ("WITH RECURSIVE x AS (SELECT * FROM stays) SELECT COUNT(*) FROM x", "WITH RECURSIVE"),
    ("INSERT INTO stays VALUES (1)", "INSERT is not supported"),
    ("DROP TABLE stays", "DROP is not supported"),
    ("SELECT COUNT(*) FROM stays; SELECT COUNT(*) FROM stays", "more than one statement"),
    ("SELECT COUNT(*)", "FROM is missing"),
    ("SELECT COUNT(*) FROM stays WHERE age > ?", "placeholder"),
    ("SELECT ((", "cannot be read"),
    ("", "more than one statement, or none"),
]
"""Statements that must be refused, and with which words."""
