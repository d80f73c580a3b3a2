"""A value's bucket, as DuckDB SQL. It is hashed by macros, so that no row leaves DuckDB:
2 million whole numbers take 0.1 seconds on two cores, texts 0.8."""

from __future__ import annotations

from tidelake.model.schema import Column
from tidelake.model.types import FLOATS, SIGNED, TIMESTAMPS, decimal_shape, is_decimal
from tidelake.plan.partitioning.bucket_hash import LONG_DECIMAL_DIGITS

_RAW_INSTANTS = {
    "timestamp_s": "epoch_ms({0}) // 1000",
    "timestamp_ms": "epoch_ms({0})",
    "timestamp_ns": "epoch_ns({0})",
}
_BYTES = {"blob": "{0}", "geometry": "ST_AsWKB({0})"}


def bucket_sql(column: Column, count: int, reference: str) -> str:
    """A VARCHAR expression. Requires: the connection has been given `MACROS`."""
    number = _as_long(column, reference)
    if number is not None:
        hashed = f"tidelake_hash_long({number})"
    else:
        value = _BYTES.get(column.type, "CAST({0} AS VARCHAR)").format(reference)
        hashed = f"tidelake_hash_bytes({value})"
    return f"CAST(({hashed} & 2147483647::UBIGINT) % {count}::UBIGINT AS VARCHAR)"


def _as_long(column: Column, reference: str) -> str | None:
    """The number that is hashed in the value's stead; None for what is hashed as bytes."""
    kind = column.type
    if kind in SIGNED or kind == "boolean":
        return f"CAST({reference} AS BIGINT)"
    if kind in FLOATS:
        return f"tidelake_float_bits(CAST({reference} AS DOUBLE))"
    if kind == "date":
        return f"CAST({reference} - DATE '1970-01-01' AS BIGINT)"
    if kind == "time":
        return f"epoch_us({reference})"
    if kind == "timetz":
        return f"tidelake_zoned_time({reference})"
    if kind in TIMESTAMPS:
        raw = _RAW_INSTANTS.get(kind, "epoch_us({0})").format(reference)
        return f"tidelake_instant({reference}, {raw})"
    if is_decimal(kind):
        return _unscaled(kind, reference)
    return None


def _unscaled(kind: str, reference: str) -> str | None:
    width, scale = decimal_shape(kind)
    if width > LONG_DECIMAL_DIGITS:
        return None
    return (
        f"CAST(CAST({reference} AS DECIMAL(18, {scale})) * {10**scale}::DECIMAL(19, 0) AS BIGINT)"
    )


# Murmur3 for x86, 32 bits, seed 0, on words kept in UBIGINT. Every number has its type, because
# DuckDB would otherwise go on in HUGEINT, at ten times the cost. A macro repeats the SQL of its
# parameters: a lambda on a list of one gives a name to what is needed twice.
MACROS = """
CREATE OR REPLACE TEMP MACRO tidelake_times(word, factor) AS
    (word * factor::UBIGINT) & 4294967295::UBIGINT;
CREATE OR REPLACE TEMP MACRO tidelake_rotated(word, bits) AS
    ((word * 4294967297::UBIGINT) >> (32 - bits)::UBIGINT) & 4294967295::UBIGINT;
CREATE OR REPLACE TEMP MACRO tidelake_folded(state, bits) AS
    list_transform([state], lambda x: xor(x, x >> bits::UBIGINT))[1];
CREATE OR REPLACE TEMP MACRO tidelake_mixed(word) AS
    tidelake_times(tidelake_rotated(tidelake_times(word, 3432918353), 15), 461845907);
CREATE OR REPLACE TEMP MACRO tidelake_stirred(state, word) AS
    (tidelake_rotated(xor(state, tidelake_mixed(word)), 13) * 5::UBIGINT + 3864292196::UBIGINT)
    & 4294967295::UBIGINT;
CREATE OR REPLACE TEMP MACRO tidelake_finished(state) AS
    tidelake_folded(tidelake_times(tidelake_folded(tidelake_times(
        tidelake_folded(state, 16), 2246822507), 13), 3266489909), 16);

CREATE OR REPLACE TEMP MACRO tidelake_hash_long(number) AS
    list_transform([number], lambda n: tidelake_finished(xor(8::UBIGINT, tidelake_stirred(
        tidelake_stirred(0::UBIGINT, (n & 4294967295::BIGINT)::UBIGINT),
        ((n >> 32::BIGINT) & 4294967295::BIGINT)::UBIGINT))))[1];

CREATE OR REPLACE TEMP MACRO tidelake_swapped(word) AS
    list_transform([word], lambda x:
        ((x & 255::UBIGINT) << 24::UBIGINT) | ((x & 65280::UBIGINT) << 8::UBIGINT)
        | ((x >> 8::UBIGINT) & 65280::UBIGINT) | (x >> 24::UBIGINT))[1];
CREATE OR REPLACE TEMP MACRO tidelake_word(digits, nth) AS
    tidelake_swapped(('0x' || substring(digits, 8 * nth + 1, 8))::UBIGINT);
CREATE OR REPLACE TEMP MACRO tidelake_hash_digits(digits, words) AS
    tidelake_finished(xor(((length(digits) - 8) // 2)::UBIGINT, xor(
        list_reduce(
            list_transform(range(words), lambda nth: tidelake_word(digits, nth)),
            lambda state, word: tidelake_stirred(state, word),
            0::UBIGINT),
        tidelake_mixed(tidelake_word(digits, words)))));
CREATE OR REPLACE TEMP MACRO tidelake_hash_bytes(bytes) AS
    list_transform([hex(bytes) || '00000000'], lambda digits:
        tidelake_hash_digits(digits, length(digits) // 8 - 1))[1];

CREATE OR REPLACE TEMP MACRO tidelake_instant(moment, number) AS
    CASE WHEN NOT isinf(moment) THEN number
        WHEN moment::VARCHAR = 'infinity' THEN 9223372036854775807
        WHEN moment::VARCHAR = '-infinity' THEN -9223372036854775807 END;
CREATE OR REPLACE TEMP MACRO tidelake_zoned_time(moment) AS
    epoch_us(moment::TIME) * 16777216 + 57599 - date_part('timezone', moment);

CREATE OR REPLACE TEMP MACRO tidelake_exponent(size) AS
    list_transform([least(floor(log2(size)), 1023)], lambda guess: greatest(-1022, guess
        - (size < pow(2.0::DOUBLE, guess))::DOUBLE
        + (size >= 2 * pow(2.0::DOUBLE, guess))::DOUBLE))[1];
CREATE OR REPLACE TEMP MACRO tidelake_size_bits(size) AS
    list_transform([tidelake_exponent(size)], lambda exponent:
        ((exponent + 1022)::BIGINT << 52)
        + (size / pow(2.0::DOUBLE, exponent) * 4503599627370496)::BIGINT)[1];
CREATE OR REPLACE TEMP MACRO tidelake_float_bits(number) AS
    CASE WHEN number = 0 THEN 0
        ELSE CASE WHEN signbit(number) THEN -9223372036854775808 ELSE 0 END
            + CASE WHEN isnan(number) THEN 9221120237041090560
                WHEN isinf(number) THEN 9218868437227405312
                ELSE tidelake_size_bits(abs(number)) END
        END::BIGINT;
"""
