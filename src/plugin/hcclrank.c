/* hcclrank.c - */
