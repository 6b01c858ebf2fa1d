/* job.c - */
