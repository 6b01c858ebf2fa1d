/* plan.c - */
