# What a user can get wrong, or find in the way: each one line, and a true exit status.
. ./common.sh
try() {
    local name=$1
    shift
    timeout 20 "$@" "$bin/tributary-agent" --collector $endpoint --source box --spool none --duration 1s \
        $words > out.txt 2>&1
    echo "$name|$?|$(grep -c . out.txt)|$(tail -1 out.txt)"
}
{
    words="--video /dev/video9" try missing env
    words="--video usb-nowhere" try unknown env
    words="--video /dev/null" try "no camera" env
    words="--video first --video-format mjpeg" try format env
    words="--video first --encoder copy" try copy env
    words="--video first --size 700x700" try size env
    words="--video none --audio hw:9" try "no microphone" env
    v4l2-ctl -d /dev/video0 --stream-mmap --stream-count=1000 --stream-to=/dev/null > /dev/null 2>&1 &
    holder=$!
    arecord -q -D hw:Loopback,1,0 -f S16_LE -r 48000 -c 2 /dev/null & sound=$!
    sleep 2
    words="--video /dev/video0" try "busy camera" env
    words="--video none --audio hw:CARD=Loopback,DEV=1,SUBDEV=0" try "busy microphone" env
    "$bin/tributary-agent" devices > devices.txt
    "$bin/tributary-agent" devices --json > devices.json
    kill $holder $sound
    wait $holder $sound
    words="--video /dev/video0" try forbidden setpriv --reuid 65534 --regid 65534 --clear-groups
    words="--video none --audio hw:CARD=Loopback,DEV=1" try "forbidden microphone" \
        setpriv --reuid 65534 --regid 65534 --clear-groups
} | tee errors.txt
