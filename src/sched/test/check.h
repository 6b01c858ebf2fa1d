/* check.h - what holds between any two calls: each of these stops the program if it does not */
#ifndef SCHED_TEST_CHECK_H
#define SCHED_TEST_CHECK_H

#include "sched/sched.h"

struct sched_model;

/* Every counter is what counting afresh gives; gang_classes_check() and gang_prefilter_check() too. */
void sched_check(struct sched *s);
void model_check(struct sched_model *m);

void fit_check(struct sched_model *m);            /* what affinity terms count, and topology keys */
void gang_classes_check(struct sched_model *m);   /* who waits is in the class that it would be put in */
void gang_prefilter_check(struct sched_model *m); /* a trial says what was counted */

#endif
