"""Measures how live streams are watched: memory, CPU time beside nginx-rtmp, what the collector pays, and lag."""

import datetime
import http.client
import re
import time

import contenders
import machine
import readers
import servers
from shares import Table, percentile

SOURCE = "source0"  # as bench-load calls its first
WATCHERS = (0, 50, 200)
COLLECTOR_WATCHERS = 50
# Sources, and whether each 100 ms is a message also while nobody watches.
RECORDED = ((1, False), (16, False), (16, True))
COLLECTOR_SHARE = 1.05
# Until everybody has had the group of pictures that is kept, and goes at the pace of the source.
SETTLE_SECONDS = 2
BATCH_SECONDS = 0.1
LAG_SECONDS = BATCH_SECONDS + 0.05
LOW_LATENCY_SECONDS = 2


def memory(bench):
    """Resident memory of the viewer for each that watches: with nothing to see, reading, and not reading."""
    table = Table(
        "memory of the viewer", {"total": "PSS, MB", "each": "for each, MB", "resident": "for each, RSS, MB"})
    devnull = servers.make_devnull(bench.directory)
    # Who is there and reads nothing is the worst case, not the usual one: there is no wish about it.
    kinds = [("idle", "nobody", True, WATCHERS, 1), ("streaming", SOURCE, True, WATCHERS, 1),
             ("stalled", SOURCE, False, (0, COLLECTOR_WATCHERS), None)]
    for run in range(bench.options.runs):
        for kind, source, reads, counts, goal in kinds:
            with servers.Stage(bench.place, bench.directory) as stage:
                archive = f"{bench.directory}/memory-{run}-{kind}"
                _, endpoint = stage.collector(archive, devnull)
                stage.load(endpoint, 1, 240)
                viewer, port = stage.viewer(archive)
                wait_for_live(port, SOURCE)
                base = None
                for count in counts:
                    with readers.Readers([readers.live_reader(port, source) for _ in range(count)], reads) as crowd:
                        time.sleep(SETTLE_SECONDS + bench.options.seconds / 2)
                        found = memory_bytes(viewer)
                    if crowd.ended:
                        raise RuntimeError(f"{crowd.ended} of {count} were disconnected")
                    base = base or found
                    grown = [(a - b) / max(1, count) / 1e6 for a, b in zip(found, base)]
                    table.add(f"{count} {kind}", ("each", goal) if goal and count else None,
                              total=found[0] / 1e6, **({"each": grown[0], "resident": grown[1]} if count else {}))
    table.notes.append("Streaming: everybody reads one source, 720p30 at 4 Mbit/s with AAC.")
    return table


def memory_bytes(process):
    """Proportional and resident memory."""
    with open(f"/proc/{process.child.pid}/smaps_rollup") as lines:
        found = dict(line.split()[:2] for line in list(lines)[1:])
    return int(found["Pss:"]) * 1024, int(found["Rss:"]) * 1024


def live(bench):
    """CPU of who sends a live stream to many, and of the collector behind it."""
    devnull = servers.make_devnull(bench.directory)
    return [table for table in (delivery(bench, devnull), collector(bench, devnull)) if table]


def delivery(bench, devnull):
    """CPU seconds per minute that a reader gets, of the viewer and of nginx-rtmp."""
    program, module = servers.find_nginx(bench.place)
    if not module:
        print("live is left out where it is beside nginx-rtmp: that is not installed", flush=True)
        return None
    count = bench.options.readers
    table = Table("CPU milliseconds per stream-minute delivered", {"viewer": "viewer", "nginx-rtmp": "nginx-rtmp"},
                  share=("viewer", "nginx-rtmp"))
    least = bench.place.clip_bytes_per_second() * bench.options.seconds * 0.8
    seconds = round(bench.options.seconds) + 30
    for run in range(bench.options.runs):
        found = {}
        with servers.Stage(bench.place, bench.directory) as stage:
            archive = f"{bench.directory}/delivery-{run}"
            _, endpoint = stage.collector(archive, devnull)
            stage.load(endpoint, 1, seconds)
            viewer, port = stage.viewer(archive)
            wait_for_live(port, SOURCE)
            found["viewer"] = delivered(
                bench, viewer, [readers.live_reader(port, SOURCE) for _ in range(count)], least)
        with servers.Stage(bench.place, bench.directory) as stage:
            port = servers.free_port()
            nginx = stage.nginx(program, [module], relay(port), [port])
            stage.start([*contenders.FFMPEG, "-re", "-stream_loop", "-1", "-i", bench.place.clip, "-t", seconds,
                         "-c", "copy", "-f", "flv", f"rtmp://127.0.0.1:{port}/live/{SOURCE}"])
            time.sleep(2)
            found["nginx-rtmp"] = delivered(
                bench, nginx, [readers.rtmp_reader(port, SOURCE) for _ in range(count)], least)
        table.add(f"{count} readers of one source, 4 Mbit/s", **found)
    return table


def relay(port):
    return f"""
        rtmp {{ access_log off; server {{ listen 127.0.0.1:{port}; application live {{ live on; }} }} }}
        """


def delivered(bench, server, sockets, least_bytes):
    """CPU milliseconds of a server per minute of one stream that a reader has got."""
    with readers.Readers(sockets) as crowd:
        time.sleep(SETTLE_SECONDS)
        crowd.received = [0] * len(sockets)
        cpu, instant = server.cpu(), time.monotonic()
        time.sleep(bench.options.seconds)
        cpu, minutes = server.cpu() - cpu, (time.monotonic() - instant) / 60
        flaws = crowd.flaws(least_bytes)
    if flaws:
        raise RuntimeError(f"{server.command[0]}: {', '.join(flaws)}")
    return 1000 * cpu / minutes / len(sockets)


def collector(bench, devnull):
    """CPU of a collector with a source that is watched, and at the same time of equal ones with one viewer and without."""
    table = Table("CPU of the collector, ms/s", {"watched": f"{COLLECTOR_WATCHERS} viewers of one source",
                                                 "one": "one viewer", "unwatched": "unwatched"},
                  share=("watched", "unwatched"))
    counts = {"watched": COLLECTOR_WATCHERS, "one": 1, "unwatched": 0}
    for sources, each in RECORDED:
        for run in range(bench.options.runs):
            with servers.Stage(bench.place, bench.directory) as stage:
                sites = [recorded(bench, stage, f"{sources}-{each}-{run}-{name}", sources, each, devnull)
                         for name in counts]
                time.sleep(SETTLE_SECONDS + sources // 8)
                found = dict.fromkeys(counts, 0.0)
                # Programs are not equally lucky with what they share the machine with: they change places.
                for turn in range(len(sites)):
                    turned = dict(zip(counts, sites[turn:] + sites[:turn]))
                    for name, spent in watched_by(bench, turned, counts).items():
                        found[name] += spent / len(sites)
                batches = ", each 100 ms by itself" if each else ""
                table.add(f"{sources} recorded{batches}", COLLECTOR_SHARE, **found)
    table.notes.append("Equal collectors record at the same time, each with a viewer of its own program.")
    return table


def watched_by(bench, sites, counts):
    """CPU milliseconds per second of collectors, by name, while a number of viewers watch the first source of each."""
    with servers.Stage(bench.place, bench.directory) as stage:
        # Viewers of their own: one hears a source for minutes after its last watcher.
        ports = {name: stage.viewer(archive)[1] for name, (_, archive) in sites.items()}
        crowds = [stage.enter_context(readers.Readers([readers.live_reader(ports[name], SOURCE) for _ in range(count)]))
                  for name, count in counts.items() if count]
        time.sleep(SETTLE_SECONDS)
        before, instant = {name: site[0].cpu() for name, site in sites.items()}, time.monotonic()
        time.sleep(bench.options.seconds)
        after, elapsed = {name: site[0].cpu() for name, site in sites.items()}, time.monotonic() - instant
        flaws = [flaw for crowd in crowds for flaw in crowd.flaws(1)]
    if flaws:
        raise RuntimeError(f"the collectors' viewers: {', '.join(flaws)}")
    return {name: 1000 * (after[name] - before[name]) / elapsed for name in sites}


def recorded(bench, stage, name, sources, each, devnull):
    """A collector that records a number of sources, and its archive."""
    archive = f"{bench.directory}/collector-{name}"
    process, endpoint = stage.collector(archive, devnull)
    stage.load(endpoint, sources, 240, each)
    with servers.Stage(bench.place, bench.directory) as first:
        wait_for_live(first.viewer(archive)[1], SOURCE)
    return process, archive


def lag(bench):
    """Seconds from a picture's capture to the socket of who watches, and to the end of an LL-HLS part."""
    table = Table("from capture to the reader", {"half": "p50, ms", "most": "p99, ms"})
    for run in range(bench.options.runs):
        for name, sound in {"pictures": "none", "pictures and sound": "test"}.items():
            with servers.Stage(bench.place, bench.directory) as stage:
                archive = f"{bench.directory}/lag-{run}-{sound}"
                _, endpoint = stage.collector(archive)
                stage.start([
                    bench.place.product("tributary-agent"), "--video", "test", "--audio", sound, "--size", "640x360",
                    "--video-bitrate", "1M", "--source", SOURCE, "--collector", endpoint, "--spool", "none",
                    "--control-socket", "none"])
                _, port = stage.viewer(archive)
                wait_for_live(port, SOURCE)
                oldest, newest, passed = frame_lags(port, bench.options.seconds)
                goal = ("most", 1000 * LAG_SECONDS)
                add(table, f"/api/v1/live, {name}: oldest sample of a frame", goal, oldest)
                add(table, f"/api/v1/live, {name}: end of its newest sample", None, newest)
                add(table, f"/api/v1/live, {name}: since the collector had it", None, passed)
                add(table, f"LL-HLS, {name}: end of a part", ("most", 1000 * LOW_LATENCY_SECONDS),
                    part_lags(port, bench.options.seconds))
    table.notes.append(
        "Agent (test pattern, encoded), collector and viewer on one machine, batches of 100 ms. "
        "Session zero is known to the millisecond.")
    return table


def add(table, row, goal, seconds):
    table.add(row, goal, half=1000 * percentile(seconds, 0.5), most=1000 * percentile(seconds, 0.99))


def utc(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def request(connection, path):
    connection.request("GET", path)
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"{path} is answered with {answer.status}: {answer.read(200)!r}")
    return answer


def live_frames(port, source):
    """Headers of a live stream's frames as they come, each with the time at which it was there."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        for header in readers.frames(request(connection, f"/api/v1/live?sources={source}")):
            yield header, time.time()
    finally:
        connection.close()


def wait_for_live(port, source, seconds=30):
    """Returns when a source can be watched."""
    deadline = time.monotonic() + seconds
    for header, _ in live_frames(port, source):
        if header["type"] == "media":
            return
        if time.monotonic() > deadline:
            break
    raise RuntimeError(f"{source} is not live")


def frame_lags(port, seconds):
    """Seconds from the capture of each frame's oldest sample, from the end of its newest, and from the collector on."""
    lags = ([], [], [])
    zero, begin = None, time.monotonic() + SETTLE_SECONDS
    for header, arrival in live_frames(port, SOURCE):
        if header["type"] == "begin":
            zero = utc(header["zero"])
        # The first are of the group of pictures that was kept.
        if header["type"] == "media" and time.monotonic() > begin:
            start = zero + header["atSeconds"]
            end = start + header["durationSeconds"]
            lags[0].append(arrival - start)
            lags[1].append(arrival - end)
            lags[2].append(arrival - end - header["lagSeconds"])
        if time.monotonic() > begin + seconds:
            return lags
    raise RuntimeError("the live stream has ended")


def part_lags(port, seconds):
    """Seconds from the end of each part, as the playlist dates it, until a player has it."""
    base, lags = f"/hls/live/{SOURCE}/", []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        parts = listed_parts(request(connection, f"{base}index.m3u8").read().decode())
        begin = time.monotonic() + SETTLE_SECONDS
        known = None
        while time.monotonic() < begin + seconds:
            # As players do: a reload that waits for the part after the last one.
            (sequence, number), _, _ = parts[-1]
            query = f"_HLS_msn={sequence}&_HLS_part={number + 1}"
            parts = listed_parts(request(connection, f"{base}index.m3u8?{query}").read().decode())
            _, name, end = parts[-1]
            if name == known:
                raise RuntimeError("a playlist was given before its next part")
            known = name
            request(connection, base + name).read()
            if time.monotonic() > begin:
                lags.append(time.time() - end)
    finally:
        connection.close()
    return lags


def listed_parts(playlist):
    """Of each part: (media sequence number, number within the segment), its name, and the time at which it ends."""
    sequence = int(re.search(r"#EXT-X-MEDIA-SEQUENCE:(\d+)", playlist).group(1))
    parts, number, clock = [], 0, None
    for line in playlist.splitlines():
        if line.startswith("#EXT-X-PROGRAM-DATE-TIME:"):
            clock = utc(line.split(":", 1)[1])
        elif line.startswith("#EXT-X-PART:"):
            clock += float(re.search(r"DURATION=([0-9.]+)", line).group(1))
            parts.append(((sequence, number), re.search(r'URI="([^"]+)"', line).group(1), clock))
            number += 1
        elif line and not line.startswith("#"):
            sequence, number = sequence + 1, 0
    return parts
