/* policy.c - */
