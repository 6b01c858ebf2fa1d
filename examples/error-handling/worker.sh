# worker.sh - a worker that fails in the first run of the job: it loses its connection (exit code 3)
set -eu
echo "worker $VC_TASK_INDEX, run $VC_RETRY_COUNT of the job"
sleep 0.2
if [ "$VC_TASK_INDEX" = 1 ] && [ "$VC_RETRY_COUNT" = 0 ]; then
    echo "lost the connection to my peers" >&2
    exit 3
fi
sleep 0.3
echo "worker $VC_TASK_INDEX is done"
