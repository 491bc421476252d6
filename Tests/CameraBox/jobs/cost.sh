# What capturing costs, beside ffmpeg with the same settings; they take turns.
. ./common.sh
control horizontal_movement=5
rig-tone 440 & tone=$!
sleep 1
size=640x360 rate=15 seconds=20
for round in 1 2 3; do
    collector
    python3 measure.py "agent" "$bin/tributary-agent" --collector $endpoint --source box --spool none \
        --video /dev/video0 --audio hw:Loopback,1 --size $size --fps $rate --video-bitrate 1M \
        --sample-rate 48000 --channels 2 --duration ${seconds}s
    wait $collector
    python3 measure.py "ffmpeg" ffmpeg -hide_banner -nostdin -loglevel error -f v4l2 -framerate $rate \
        -video_size $size -i /dev/video0 -f alsa -thread_queue_size 512 -sample_rate 48000 -channels 2 \
        -i hw:Loopback,1 -t $seconds -c:v libx264 -preset veryfast -tune zerolatency -profile:v high -b:v 1M \
        -maxrate 1500k -bufsize 1500k -g $((2 * rate)) -bf 0 -c:a aac -b:a 96k -y /tmp/peer.mp4
done > cost.jsonl
kill $tone
cat cost.jsonl
