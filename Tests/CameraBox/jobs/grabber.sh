# A grabber, whose driver has any size, and takes what part of its input is wanted.
. ./common.sh
control osd_text_mode=2
socket=/tmp/agent.sock
record --video /dev/video0 --audio none --size 320x180 --fps 10 --video-bitrate 2M --encoder-preset ultrafast \
    --control-socket $socket &
agent=$!
box() { "$bin/tributary-agent" control "$@" --control-socket $socket; }
until_recording
sleep 3
box controls --json > controls.json
width=$(python3 -c 'import json; print(next(c["maximum"] for c in json.load(open("controls.json")) if c["name"] == "sensor_width"))')
box set --control sensor_width=$((width / 2)) > out.txt 2>&1
echo "zoom|$?|$(grep -c . out.txt)|$(tail -1 out.txt)" > changes.txt
box set --control sensor_left=$((width - 10)) > out.txt 2>&1
echo "bad zoom|$?|$(grep -c . out.txt)|$(tail -1 out.txt)" >> changes.txt
sleep 3
pkill -INT -x tributary-agent || pkill -INT tributary-agent
wait $agent
hand_over
