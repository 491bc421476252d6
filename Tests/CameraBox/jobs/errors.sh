# What a user can get wrong, or find in the way, as the doctor finds it and as the agent then says it.
. ./common.sh
collector
for _ in $(seq 60); do [ -S /tmp/collector ] && break; sleep 0.5; done
# Also for who may not do anything else here.
chmod 777 /tmp/collector
# NAME and what stands before the program; what is asked of it is in $words.
try() {
    local name=$1
    shift
    timeout 30 "$@" "$bin/tributary-agent" doctor --json --collector $endpoint --source box --spool none \
        --encoder-preset ultrafast $words > "doctor.$name.json" 2> doctor.txt
    echo "$name|$?|$(grep -c . doctor.txt)|$(tail -1 doctor.txt)" >> doctors.txt
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
    v4l2-ctl -d /dev/video0 --stream-mmap --stream-count=10000 --stream-to=/dev/null > /dev/null 2>&1 &
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
    camera out
    words="--video first" try "no camera at all" env
    camera in
    microphone out
    words="--video none --audio first" try "no microphone at all" env
    microphone in
} | tee errors.txt
# And when all is well, nothing is found.
"$bin/tributary-agent" doctor --json --collector $endpoint --source box --spool none --encoder-preset ultrafast \
    --video first --audio first --size 320x180 --fps 10 > doctor.well.json
echo "well|$?|0|" >> doctors.txt
"$bin/tributary-agent" doctor --collector $endpoint --source box --spool none --encoder-preset ultrafast \
    --video first --audio first --size 320x180 --fps 10
kill $collector
