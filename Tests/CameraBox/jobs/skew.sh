# Sound against picture: both made at times of one clock.
. ./common.sh
control osd_text_mode=2
control timestamp_source=1
control test_pattern=5
python3 flash.py /dev/video0 hw:Loopback,0 48 & maker=$!
sleep 2
record --video /dev/video0 --audio hw:Loopback,1 --size 320x180 --fps 15 --video-bitrate 500k \
    --encoder-preset ultrafast --duration 40s
kill $maker
wait $maker
hand_over
