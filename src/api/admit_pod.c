/* admit_pod.c - */
