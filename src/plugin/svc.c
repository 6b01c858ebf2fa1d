/* svc.c - */
