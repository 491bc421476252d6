# A minute at 640×360, 15 pictures per second, with sound, from quiet devices.
. ./common.sh
control horizontal_movement=5
tone 440 & tone=$!
sleep 1
trace_on
record --video /dev/video0 --audio hw:Loopback,1 --size 640x360 --fps 15 --video-bitrate 1M \
    --encoder-preset ultrafast --duration 60s
trace_off
kill $tone
hand_over
