# What capturing costs, beside ffmpeg with the same settings; they take turns.
. ./common.sh
control horizontal_movement=5
tone 440 & tone=$!
sleep 1
size=320x180 rate=10 seconds=20
for round in 1 2 3; do
    collector
    python3 measure.py "agent" "$bin/tributary-agent" --collector $endpoint --source box --spool none \
        --video /dev/video0 --audio hw:Loopback,1 --size $size --fps $rate --video-bitrate 500k --encoder libx264 \
        --sample-rate 48000 --channels 2 --duration ${seconds}s
    wait $collector
    # A box that has no real time leaves pictures out: what they cost is told for each that is there.
    "$bin/tributary" show latest --archive $archive --json | python3 -c 'import json, sys
entry = json.load(sys.stdin)["sources"][0]
print(json.dumps({"name": "agent", "pictures": sum(
    track["samples"] for file in entry["files"] for track in file["tracks"] if track["kind"] == "video")}))'
    python3 measure.py "ffmpeg" ffmpeg -hide_banner -nostdin -loglevel error -f v4l2 -framerate $rate \
        -video_size $size -i /dev/video0 -f alsa -thread_queue_size 512 -sample_rate 48000 -channels 2 \
        -i hw:Loopback,1 -t $seconds -c:v libx264 -preset veryfast -tune zerolatency -profile:v high -b:v 500k \
        -maxrate 750k -bufsize 750k -g $((2 * rate)) -bf 0 -c:a aac -b:a 96k -fps_mode passthrough -y /tmp/peer.mp4
    echo "{\"name\": \"ffmpeg\", \"pictures\": $(ffprobe -v error -select_streams v -count_packets -show_entries \
        stream=nb_read_packets -of csv=p=0 /tmp/peer.mp4 | tr -d ',')}"
done > cost.jsonl
kill $tone
cat cost.jsonl
