/* schema_core.c - */
