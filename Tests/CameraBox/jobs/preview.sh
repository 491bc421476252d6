# A small preview of the camera's own pictures, while the camera fails, is unplugged and gets another size.
. ./common.sh
control horizontal_movement=5
socket=/tmp/agent.sock
record --video platform:vivid-000 --audio none --size 640x360 --fps 15 --video-bitrate 500k \
    --encoder-preset ultrafast --preview small:320x320 --control-socket $socket &
agent=$!
until_recording
sleep 5
mark eio; control inject_fatal_streaming_error=1
sleep 4
mark camera_out; camera out; sleep 4; camera in; mark camera_in
sleep 5
mark size
"$bin/tributary-agent" control set --size 320x180 --control-socket $socket > size.txt 2>&1
echo "size rc $?"
sleep 5
mark end
pkill -INT -x tributary-agent || pkill -INT tributary-agent
wait $agent
hand_over
mkdir -p preview
cp $archive/sessions/*/box.preview/* preview/
