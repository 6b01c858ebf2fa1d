# work.sh - prints when it runs, and works for a while
echo "$VC_JOB_NAME begins"
sleep "${SECONDS_OF_WORK:-1}"
echo "$VC_JOB_NAME is done"
