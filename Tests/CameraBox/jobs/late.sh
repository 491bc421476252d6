# A busy moment, in which hardly anything can be encoded: it costs pictures, unless late ones are kept.
. ./common.sh
control horizontal_movement=5
for late in drop keep; do
    record --video /dev/video0 --audio none --size 320x180 --fps 10 --video-bitrate 500k --encoder-preset ultrafast \
        --encoder libx264 --encoder-threads 1 --late $late --duration 20s &
    recording=$!
    until_recording
    sleep 5
    # The encoder's thread has a processor of its own, which something more urgent then takes for four seconds.
    process=$(pgrep -x tributary-agent || pgrep tributary-agent)
    for thread in /proc/"$process"/task/*; do
        [ "$(cat "$thread/comm")" = "capture video" ] && taskset -pc 1 "${thread##*/}"
    done
    timeout 4 taskset -c 1 chrt -f 50 sh -c 'while :; do :; done'
    wait $recording
    hand_over "late-$late"
done
