// The physical limit of "receive N sources over ZeroMQ and keep them", and the load that measures it.
//
//   floor receive PORT SOURCES DIR bytes|mp4 MEDIA ACK_EVERY [SECRET]
//   floor send    PORT SOURCES MEDIA SECONDS paced|fast WINDOW BATCH_MS [PUBLIC]
//   floor keys                          prints PUBLIC and SECRET
//
// The sender holds MEDIA in memory and plays it round and round, BATCH_MS of samples to a message: each sample a
// struct unit and its bytes. Sources send 100 ms spread over that time, and longer batches at as few instants as keep each
// below 1 MiB, where several meet, as the product's agents do. The receiver writes each source to DIR/s<number>.<bytes|mp4>: the bytes as they are, or
// through libavformat as fragmented MP4. With ACK_EVERY above 0 it answers every so many messages of a source, and
// the sender keeps at most WINDOW messages of a source unanswered; both are 0 for a link without answers. An empty
// message ends a source. With keys, connections are encrypted (CURVE); every source has the same pair, and whoever
// knows PUBLIC is admitted. Single-threaded at both ends, but for libzmq's I/O thread.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <libavformat/avformat.h>
#include <zmq.h>

enum { MAX_SOURCES = 256 };
static const int64_t SPREAD_BATCH = 100000000; // ns

// The header of a sample's bytes; times in the track's own time base.
struct unit {
    int32_t track, flags, duration, size;
    int64_t pts, dts;
};

// The samples of one message, ready to be sent.
struct batch {
    int64_t end; // ns after the file's first sample, when the last one has been captured
    size_t size;
    uint8_t *bytes;
};

static void fail(const char *what) {
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// At how many instants of a batch's length sources send that have so many bytes together: 1, 2, 5, 10 or 20.
static int64_t instants_for(int64_t bytes) {
    static const int64_t choices[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++) {
        if (bytes <= choices[i] << 20) return choices[i];
    }
    return 20;
}

static void sleep_until(int64_t instant) {
    struct timespec t = {instant / 1000000000, instant % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

static AVFormatContext *open_media(const char *path) {
    AVFormatContext *media = NULL;
    if (avformat_open_input(&media, path, NULL, NULL) < 0) fail(path);
    if (avformat_find_stream_info(media, NULL) < 0) fail(path);
    return media;
}

// ---- Sending -------------------------------------------------------------------------------------------------

// Reads the whole file as batches; returns how many, and how long a round of them lasts.
static int load(const char *path, int64_t length, struct batch **batches, int64_t *round_length) {
    AVFormatContext *media = open_media(path);
    AVPacket *packet = av_packet_alloc();
    int count = 0, capacity = 0;
    int64_t begin = 0;
    while (av_read_frame(media, packet) >= 0) {
        AVRational base = media->streams[packet->stream_index]->time_base;
        int64_t at = av_rescale_q(packet->dts, base, (AVRational){1, 1000000000});
        if (count == 0 || at >= begin + length) {
            if (count == capacity) {
                capacity = capacity ? 2 * capacity : 1024;
                *batches = realloc(*batches, capacity * sizeof **batches);
            }
            begin = at;
            (*batches)[count++] = (struct batch){0};
        }
        struct batch *last = &(*batches)[count - 1];
        struct unit unit = {packet->stream_index, packet->flags, packet->duration,
                            packet->size,         packet->pts,   packet->dts};
        last->bytes = realloc(last->bytes, last->size + sizeof unit + unit.size);
        memcpy(last->bytes + last->size, &unit, sizeof unit);
        memcpy(last->bytes + last->size + sizeof unit, packet->data, unit.size);
        last->size += sizeof unit + unit.size;
        if (at > last->end) last->end = at;
        av_packet_unref(packet);
    }
    if (count == 0) fail("no samples");
    *round_length = av_rescale(media->duration, 1000000000, AV_TIME_BASE);
    return count;
}

static void keep(void *bytes, void *hint) {
    (void)bytes;
    (void)hint; // The batches live as long as the process.
}

// Takes the answers that are there, or waits for one; each counts ACK_EVERY messages, said in the answer.
static void take_answers(void *socket, int64_t *unanswered, int must_wait) {
    int32_t answered;
    while (zmq_recv(socket, &answered, sizeof answered, must_wait ? 0 : ZMQ_DONTWAIT) > 0) {
        *unanswered -= answered;
        must_wait = 0;
    }
    if (errno != EAGAIN) fail("receive an answer");
}

static void must_set(void *socket, int option, const void *value, size_t size) {
    if (zmq_setsockopt(socket, option, value, size)) fail("set an option");
}

static void send_all(int port, int sources, const char *path, double seconds, int paced, int window,
                     int64_t length, const char *server_key) {
    struct batch *batches = NULL;
    int64_t round_length, unanswered[MAX_SOURCES] = {0}, end = seconds * 1e9, payload = 0;
    int count = load(path, length, &batches, &round_length);
    void *context = zmq_ctx_new(), *sockets[MAX_SOURCES];
    char public[41], secret[41];
    if (server_key && zmq_curve_keypair(public, secret)) fail("make keys");
    for (int32_t i = 0; i < sources; i++) {
        char endpoint[64];
        snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", port);
        sockets[i] = zmq_socket(context, ZMQ_DEALER);
        // ZeroMQ keeps identities that begin with a zero byte for itself.
        uint8_t identity[] = {1, i};
        zmq_setsockopt(sockets[i], ZMQ_ROUTING_ID, identity, sizeof identity);
        if (server_key) {
            must_set(sockets[i], ZMQ_CURVE_SERVERKEY, server_key, 41);
            must_set(sockets[i], ZMQ_CURVE_PUBLICKEY, public, 41);
            must_set(sockets[i], ZMQ_CURVE_SECRETKEY, secret, 41);
        }
        if (zmq_connect(sockets[i], endpoint)) fail(endpoint);
    }
    int64_t round_bytes = 0;
    for (int i = 0; i < count; i++) round_bytes += batches[i].size;
    int64_t phases = length <= SPREAD_BATCH ? sources : instants_for(round_bytes / count * sources);
    int64_t start = now();
    for (int64_t sent = 0; sent / count * round_length + batches[sent % count].end < end; sent++) {
        struct batch *batch = &batches[sent % count];
        int64_t due = start + sent / count * round_length + batch->end;
        for (int i = 0; i < sources; i++) {
            if (paced) sleep_until(due + i * phases / sources * length / phases);
            if (window) take_answers(sockets[i], &unanswered[i], unanswered[i] >= window);
            zmq_msg_t message;
            zmq_msg_init_data(&message, batch->bytes, batch->size, keep, NULL);
            if (zmq_msg_send(&message, sockets[i], 0) < 0) fail("send");
            unanswered[i]++;
        }
        payload += batch->size;
    }
    for (int i = 0; i < sources; i++) {
        if (zmq_send(sockets[i], "", 0, 0) < 0) fail("send");
        while (window && unanswered[i] > 0) take_answers(sockets[i], &unanswered[i], 1);
        zmq_close(sockets[i]);
    }
    zmq_ctx_term(context);
    printf("{\"bytes\": %lld}\n", (long long)payload * sources);
}

// ---- Receiving -----------------------------------------------------------------------------------------------

// Where a source goes; `muxer` is NULL for plain bytes.
struct sink {
    int file;
    AVFormatContext *muxer;
    int64_t offset[2], last[2]; // of each track: added to its times, and where the last sample ended
    int32_t unanswered;
};

static void open_sink(struct sink *sink, const char *directory, int number, int as_mp4, AVFormatContext *media) {
    char path[4096];
    snprintf(path, sizeof path, "%s/s%d.%s", directory, number, as_mp4 ? "mp4" : "bytes");
    if (!as_mp4) {
        sink->file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (sink->file < 0) fail(path);
        return;
    }
    avformat_alloc_output_context2(&sink->muxer, NULL, "mp4", path);
    for (unsigned i = 0; i < media->nb_streams; i++) {
        AVStream *track = avformat_new_stream(sink->muxer, NULL);
        avcodec_parameters_copy(track->codecpar, media->streams[i]->codecpar);
        track->codecpar->codec_tag = 0;
        track->time_base = media->streams[i]->time_base;
    }
    AVDictionary *options = NULL;
    av_dict_set(&options, "movflags", "frag_keyframe+empty_moov+default_base_moof", 0);
    if (avio_open(&sink->muxer->pb, path, AVIO_FLAG_WRITE) < 0) fail(path);
    if (avformat_write_header(sink->muxer, &options) < 0) fail(path);
    av_dict_free(&options);
}

static void mux(struct sink *sink, const struct unit *unit, const uint8_t *bytes, AVFormatContext *media, AVPacket *packet) {
    int track = unit->track;
    // The file begins anew: it goes on where it ended.
    if (unit->dts + sink->offset[track] < sink->last[track]) sink->offset[track] = sink->last[track] - unit->dts;
    sink->last[track] = unit->dts + sink->offset[track] + unit->duration;
    packet->data = (uint8_t *)bytes;
    packet->size = unit->size;
    packet->stream_index = track;
    packet->flags = unit->flags;
    packet->duration = unit->duration;
    packet->pts = unit->pts + sink->offset[track];
    packet->dts = unit->dts + sink->offset[track];
    av_packet_rescale_ts(packet, media->streams[track]->time_base, sink->muxer->streams[track]->time_base);
    if (av_write_frame(sink->muxer, packet) < 0) fail("mux");
}

// Keeps one message; returns whether it was the source's last.
static int take(struct sink *sink, zmq_msg_t *message, AVFormatContext *media, AVPacket *packet) {
    const uint8_t *at = zmq_msg_data(message), *end = at + zmq_msg_size(message);
    if (at == end) {
        if (sink->muxer) av_write_trailer(sink->muxer);
        return 1;
    }
    if (sink->muxer) {
        struct unit unit;
        for (; at < end; at += sizeof unit + unit.size) {
            memcpy(&unit, at, sizeof unit);
            mux(sink, &unit, at + sizeof unit, media, packet);
        }
    }
    while (!sink->muxer && at < end) {
        ssize_t written = write(sink->file, at, end - at);
        if (written < 0) fail("write");
        at += written;
    }
    return 0;
}

static void receive_all(int port, int sources, const char *directory, int as_mp4, const char *path, int ack_every,
                        const char *secret) {
    static struct sink sinks[MAX_SOURCES];
    AVFormatContext *media = open_media(path);
    AVPacket *packet = av_packet_alloc();
    for (int i = 0; i < sources; i++) open_sink(&sinks[i], directory, i, as_mp4, media);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_ROUTER);
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", port);
    if (secret) {
        int is_server = 1;
        must_set(socket, ZMQ_CURVE_SERVER, &is_server, sizeof is_server);
        must_set(socket, ZMQ_CURVE_SECRETKEY, secret, 41);
    }
    if (zmq_bind(socket, endpoint)) fail(endpoint);
    for (int ended = 0; ended < sources;) {
        zmq_msg_t identity, message;
        zmq_msg_init(&identity);
        zmq_msg_init(&message);
        if (zmq_msg_recv(&identity, socket, 0) < 0 || zmq_msg_recv(&message, socket, 0) < 0) fail("receive");
        struct sink *sink = &sinks[((uint8_t *)zmq_msg_data(&identity))[1]];
        int is_last = take(sink, &message, media, packet);
        ended += is_last;
        sink->unanswered += !is_last;
        if (ack_every && (is_last || sink->unanswered >= ack_every)) {
            zmq_msg_send(&identity, socket, ZMQ_SNDMORE);
            zmq_send(socket, &sink->unanswered, sizeof sink->unanswered, 0);
            sink->unanswered = 0;
        }
        zmq_msg_close(&identity);
        zmq_msg_close(&message);
    }
    zmq_close(socket);
    zmq_ctx_term(context);
}

int main(int argc, char **argv) {
    if ((argc == 8 || argc == 9) && !strcmp(argv[1], "receive"))
        receive_all(atoi(argv[2]), atoi(argv[3]), argv[4], !strcmp(argv[5], "mp4"), argv[6], atoi(argv[7]),
                    argc == 9 ? argv[8] : NULL);
    else if ((argc == 9 || argc == 10) && !strcmp(argv[1], "send") && atoi(argv[8]) > 0)
        send_all(atoi(argv[2]), atoi(argv[3]), argv[4], atof(argv[5]), !strcmp(argv[6], "paced"), atoi(argv[7]),
                 atoi(argv[8]) * 1000000LL, argc == 10 ? argv[9] : NULL);
    else if (argc == 2 && !strcmp(argv[1], "keys")) {
        char public[41], secret[41];
        if (zmq_curve_keypair(public, secret)) fail("make keys");
        printf("%s %s\n", public, secret);
    } else {
        fprintf(stderr, "usage: see the top of floor.c\n");
        return 64;
    }
    return 0;
}
