# From a picture's capture to its record in the spool, by the kernel's own trace of both.
. ./common.sh
control horizontal_movement=5
options="--video /dev/video0 --audio none --size 640x360 --fps 15 --video-bitrate 1M"
collector
# How long a picture takes to encode here.
"$bin/tributary-agent" doctor --json --collector $endpoint --source box --spool none $options > doctor.json
trace_on
# Of the clock that pictures are stamped with.
echo mono > /sys/kernel/tracing/trace_clock
echo 1 > /sys/kernel/tracing/events/syscalls/sys_exit_pwritev/enable
"$bin/tributary-agent" --collector $endpoint --source box --spool /tmp/spool --batch 0 --duration 40s $options \
    >> agent.log 2>&1
echo "agent rc $?"
grep -E 'v4l2_dqbuf:|sys_pwritev' /sys/kernel/tracing/trace > trace.txt
trace_off
wait $collector
hand_over
