/* class_text.h - the text a class is interned by; class.c says what is in it */
#ifndef SCHED_FIT_CLASS_TEXT_H
#define SCHED_FIT_CLASS_TEXT_H

#include "sched/model/model.h"

/* Of a pod or pod template. Returns the length of the part before the labels. Label keys that its terms look at are
 * noted; where one is new, fit.must_relabel is set. */
size_t class_text(struct sched_model *m, struct buf *out, struct str namespace, const struct json *pod);

/* The same text with the labels that matter now, out of "key=value" lines. */
void class_text_relabel(struct sched_model *m, struct buf *out, struct str body, struct str lines);

#endif
