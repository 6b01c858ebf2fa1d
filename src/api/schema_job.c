/* schema_job.c - */
