/* schema_pod.c - */
