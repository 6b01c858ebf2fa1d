# count.sh - counts the primes in this pod's part of the numbers below LIMIT; VC_TASK_INDEX selects the part
set -eu
from=$((VC_TASK_INDEX * LIMIT / PARTS + 1))
to=$(((VC_TASK_INDEX + 1) * LIMIT / PARTS))
awk -v from=$from -v to=$to 'BEGIN {
    for (n = from; n <= to; n++) {
        prime = n > 1
        for (d = 2; d * d <= n && prime; d++)
            prime = n % d != 0
        found += prime
    }
    printf "%d primes from %d to %d\n", found, from, to
}'
