# stage.sh - one stage of a small pipeline in a shared volume: create numbers, square them in parts, add them up
set -eu
cd /data
case $1 in
extract)
    seq 1 1000 > numbers
    echo "1000 numbers" ;;
transform)
    awk -v part="$VC_TASK_INDEX" 'NR % 2 == part { print $1 * $1 }' numbers > squares."$VC_TASK_INDEX"
    echo "$(wc -l < squares."$VC_TASK_INDEX") squares" ;;
load)
    awk '{ sum += $1 } END { printf "the squares add up to %d\n", sum; exit sum != 333833500 }' squares.0 squares.1 ;;
esac
