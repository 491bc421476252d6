# What every job in the box has at hand. The working directory is shared with whoever judges.
# Programs start in half the time from the box's own disk.
cp -r bin lib /opt
bin=/opt/bin
export LD_LIBRARY_PATH=/opt/lib
archive=/tmp/archive
endpoint=ipc:///tmp/collector

# Seconds of the monotonic clock.
now() { cut -d' ' -f1 /proc/uptime; }
# Writes down when something was done.
mark() { echo "$(now) $*" >> events.txt; }
# Sets a control of the first camera.
control() { v4l2-ctl -d "${camera:-/dev/video0}" -c "$1"; }

# Every buffer that a driver hands out, with its stamp and count, from the kernel itself.
trace_on() {
    [ -d /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing
    echo 16384 > /sys/kernel/tracing/buffer_size_kb
    echo 1 > /sys/kernel/tracing/events/v4l2/v4l2_dqbuf/enable
}
trace_off() {
    echo 0 > /sys/kernel/tracing/events/v4l2/v4l2_dqbuf/enable
    grep v4l2_dqbuf: /sys/kernel/tracing/trace > "${1:-dqbuf.txt}"
    echo > /sys/kernel/tracing/trace
}

collector() {
    "$bin/tributary-collector" --listen $endpoint --archive $archive --once >> collector.log 2>&1 &
    collector=$!
}
# Records one session; the agent's words go to agent.log.
record() {
    collector
    "$bin/tributary-agent" --collector $endpoint --source box --spool none "$@" >> agent.log 2>&1
    echo "agent rc $?"
    wait $collector
    echo "collector rc $?"
}
# Waits until one more session has begun: programs start slowly on an emulated processor.
sessions=0
until_recording() {
    for _ in $(seq 240); do
        [ "$(grep -c 'session .* has begun' collector.log)" -le $sessions ] || break
        sleep 0.5
    done
    sessions=$((sessions + 1))
}
# What the archive says of the newest session, and the session itself.
hand_over() {
    local name=${1:-session}
    "$bin/tributary" verify latest --archive $archive --json > "$name.verify.json"
    echo "verify rc $?"
    "$bin/tributary" show latest --archive $archive --json > "$name.show.json"
    "$bin/tributary" show latest --archive $archive
    mkdir -p "$name"
    cp "$(dirname "$("$bin/tributary" ls latest --archive $archive --names | head -1)")"/* "$name/"
}
