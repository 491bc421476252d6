# Every fault that the drivers can be asked for, in one recording.
. ./common.sh
control horizontal_movement=5
tone 440 & tone=$!
sleep 1
trace_on
record --video platform:vivid-000 --audio hw:CARD=Loopback,DEV=1 --size 320x180 --fps 15 --video-bitrate 500k &
agent=$!
until_recording
sleep 3
mark dropped; control percentage_of_dropped_buffers=20; sleep 6; control percentage_of_dropped_buffers=0
sleep 2
for i in 1 2 3; do mark damaged; control inject_v4l2_buf_flag_error=1; sleep 1; done
mark frozen; control percentage_of_dropped_buffers=100; sleep 5; control percentage_of_dropped_buffers=0
sleep 3
mark qbuf; control inject_vidioc_qbuf_error=1
sleep 3
mark eio; control inject_fatal_streaming_error=1
sleep 3
mark disconnect; control disconnect=1
sleep 4
# What is armed here strikes when the camera is opened again.
control wrap_sequence_number=1
control inject_vidioc_reqbufs_error=1
mark refused; control inject_fatal_streaming_error=1
# The count wraps after 128 pictures.
sleep 11
mark wrapped; control wrap_sequence_number=0
control inject_vidioc_streamon_error=1
control wrap_timestamp=2
control inject_fatal_streaming_error=1
sleep 5
control wrap_timestamp=0
mark stamped; control inject_fatal_streaming_error=1
sleep 4
mark camera_out; camera out; sleep 4; camera in; mark camera_in
sleep 5
mark microphone_out; microphone out; sleep 4; microphone in; mark microphone_in
tone 440 & tone=$!
sleep 5
mark end
pkill -INT -x tributary-agent || pkill -INT tributary-agent
wait $agent
trace_off
kill $tone
hand_over
