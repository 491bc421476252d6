# One short recording in each way of delivering pictures: the camera shows colour bars.
. ./common.sh
control osd_text_mode=2
take() {
    echo "== $2"
    record --video /dev/video0 --audio none --size 320x180 --fps 10 --video-bitrate 2M --duration 2s \
        --video-format "$1"
    hand_over "format-$2" > /dev/null
}
for format in yu12 nv12 yuyv 422p nv16 rgb3 bgr3 xr24; do take $format $format; done
for preset in low medium high 1080p; do
    echo "== $preset"
    record --video first --audio none --preset $preset --video-bitrate 2M --duration 1s
    hand_over "preset-$preset" > /dev/null
done
