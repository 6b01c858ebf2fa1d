# pi.sh - the same sum without a compiler: mpiexec starts it, awk adds. Prints the share of this rank; "sh pi.sh total" adds
# up the shares that it reads.
if [ "$1" = total ]; then
    exec awk '{ print; sum += $NF } END { printf "pi = %.12f\n", sum }'
fi
exec awk -v strips="${1:-1000000}" -v rank="$OMPI_COMM_WORLD_RANK" -v size="$OMPI_COMM_WORLD_SIZE" -v host="$(hostname)" 'BEGIN {
    for (i = rank; i < strips; i += size) {
        x = (i + 0.5) / strips
        share += 4 / (1 + x * x) / strips
    }
    printf "rank %d of %d on %s: %.12f\n", rank, size, host, share
}'
