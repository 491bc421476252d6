# Changes while it records: ten switches between two cameras of different sizes, and everything else that can be changed.
. ./common.sh
camera=/dev/video0 control horizontal_movement=5
camera=/dev/video1 control horizontal_movement=5
tone 440 hw:Loopback,0,0 & tone=$!
tone 1000 hw:Loopback,0,1 & other=$!
sleep 1
socket=/tmp/agent.sock
record --video /dev/video0 --audio hw:CARD=Loopback,DEV=1,SUBDEV=0 --size 320x180 --fps 15 --video-bitrate 500k \
    --encoder-preset ultrafast --control-socket $socket &
agent=$!

# On the box, and through the collector.
box() { "$bin/tributary-agent" control "$@" --control-socket $socket; }
far() { "$bin/tributary" agent box "$@" --archive $archive; }
# Does something, and writes down what came of it.
change() {
    local name=$1
    shift
    "$@" > out.txt 2>&1
    echo "$name|$?|$(grep -c . out.txt)|$(tail -1 out.txt)" >> changes.txt
}

until_recording
sleep 3
for round in 1 2 3 4 5; do
    change "other camera" box set --video /dev/video1 --size 640x360
    sleep 2
    change "first camera" far set --video /dev/video0 --size 320x180
    sleep 2
done
# The same one by another name: one cannot be opened beside the other.
change "another name" box set --video platform:vivid-000 --size 640x360 --control hue=10
sleep 2
change controls far set --control brightness=200 --control contrast=90 --video-bitrate 400k
change "bad control" box set --video-bitrate 300k --control brightness=9999
change "bad camera" far set --video /dev/video9 --rotate 180 --control brightness=1
v4l2-ctl -d /dev/video0 -C brightness,contrast,hue > controls.txt
box status --json > refused.json
box controls --json > controls.json
change microphone far set --audio hw:CARD=Loopback,DEV=1,SUBDEV=1
sleep 2
change "another name" box set --audio hw:Loopback,1,1
sleep 2
change snapshot far snapshot snapshot.jpg
change stop far stop
sleep 2
change start box start
sleep 2
change rotate box set --rotate 90
sleep 4
far status --json > status.json
pkill -INT -x tributary-agent || pkill -INT tributary-agent
wait $agent
kill $tone $other
hand_over
