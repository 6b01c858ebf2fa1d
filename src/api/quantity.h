/* quantity.h - resource quantities: "500m", "1.5Gi", "1e3", exact
 *
 * A quantity is a whole number of nano-units (10^-9) in 128 bits, and the suffix family it was written in. Anything
 * finer than nano is rounded up (away from zero), as Kubernetes does. The range is that of Kubernetes and more: values
 * beyond ±2^63-1 whole units are cut to it.
 */
#ifndef API_QUANTITY_H
#define API_QUANTITY_H

#include "base/buf.h"
#include "base/err.h"

enum quantity_format { QUANTITY_DECIMAL_SI, QUANTITY_BINARY_SI, QUANTITY_DECIMAL_EXPONENT };

struct quantity {
    __int128 nano;
    enum quantity_format format;
};

/* The grammar of Kubernetes: sign, digits with an optional point, then n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an
 * exponent (e3, E-2). ERR_INVALID with what is wrong. */
int quantity_parse(struct str text, struct quantity *ret, struct err *e);

/* One that is written as a text or as a number; false: it is neither, or not a quantity. */
struct json;
bool quantity_from_json(const struct json *j, struct quantity *ret);

/* Canonical form: no fraction, the largest suffix of its family that keeps it whole; 1500m, 2Gi, 1k. A binary quantity
 * with a fraction or below 1024 is printed as a decimal one. Parsing the text gives the same value, but not always the
 * same family: 1584.9609375Ki prints as 1623000, which is decimal. */
void quantity_print(struct buf *out, struct quantity q);

struct quantity quantity_of_i64(int64_t units, enum quantity_format format);

int quantity_cmp(struct quantity a, struct quantity b);
struct quantity quantity_add(struct quantity a, struct quantity b); /* keeps the format of 'a' unless 'a' is zero */
struct quantity quantity_mul(struct quantity a, int64_t n);

int64_t quantity_milli(struct quantity q); /* rounded up, cut to the range of int64_t */
int64_t quantity_units(struct quantity q); /* rounded up; both away from zero */
bool quantity_is_whole(struct quantity q);

#endif
