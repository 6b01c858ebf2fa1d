/* admit_job.c - */
