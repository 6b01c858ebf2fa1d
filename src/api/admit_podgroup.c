/* admit_podgroup.c - */
