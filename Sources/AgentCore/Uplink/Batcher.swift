import Hashing
import Media
import Messaging
import Wire

/// A complete batch before numbering: the contents of its header, and its bytes.
struct Batch: Sendable {
    var runs: [SampleRun]
    /// SHA-256 of the payload.
    var digest: [UInt8]
    /// The samples' bytes, run after run.
    var payload: SharedBytes

    /// Number of samples.
    var count: Int { runs.reduce(0) { $0 + $1.count } }
    /// Whether decoding can start with its first picture; nil without pictures.
    var beginsDecodable: Bool? {
        runs.first { $0.track == .video }.map {
            DecodingStart.isPossible(at: $0.flags(at: 0), hasVideo: true)
        }
    }

    /// The loss of all its samples, because the storage was full.
    func loss(_ text: String) -> Loss {
        let times = runs.times
        return Loss(
            track: nil, cause: .spoolFull, startNanoseconds: times.lowerBound,
            durationNanoseconds: times.upperBound - times.lowerBound, samples: UInt64(count),
            text: text)
    }
}

/// Collects one source's samples into batches, because receivers pay per message.
///
/// A batch ends when it is old or large enough, and before a picture at which decoding can start, so that no batch straddles a
/// fragment. Samples are grouped by track, video first.
struct Batcher: Sendable {
    /// A batch of this size is complete: far below the message limit, so that one more sample fits.
    static let fullBytes = 1 << 20
    /// Minimum interval of audio if the interval counts from capture, even if pictures are sent immediately. At 48 kHz, an AAC
    /// packet has 21 ms of audio, and leaves the encoder later than the picture captured at that time. One record per packet would
    /// more than double the number of records, without a visible effect.
    private static let soundNanoseconds: Int64 = 33_000_000
    /// A picture with less time left is sent at once: a wake-up would need as long.
    private static let immediateNanoseconds: Int64 = 1_000_000

    private(set) var intervalNanoseconds: Int64
    /// Whether the wait counts from capture, not from encoding.
    private var countsFromCapture = false
    private var samples: [TrackKind: [EncodedSample]] = [:]
    private var sizeBytes = 0
    private var count = 0
    /// Start of the wait of each track's first sample.
    private var since: [TrackKind: Int64] = [:]

    /// - Parameter intervalNanoseconds: maximum wait of a sample; 0: none.
    init(intervalNanoseconds: Int64) {
        self.intervalNanoseconds = intervalNanoseconds
    }

    var isEmpty: Bool { count == 0 }

    /// Changes the interval, also for queued samples: the current batch may be due immediately.
    /// - Parameter countsFromCapture: whether the interval starts at a sample's capture. An AAC packet leaves the encoder when the
    ///   next one is complete, 64 ms after its first audio frame at 48 kHz. The encoding delay is subtracted from the interval, but
    ///   at most half of it, so that a slow encoder does not cause one message per sample.
    mutating func setInterval(_ nanoseconds: Int64, countsFromCapture: Bool = false) {
        intervalNanoseconds = nanoseconds
        self.countsFromCapture = countsFromCapture
    }

    /// When the batch is due, on the clock that ``add(_:now:)`` was given; nil while it is empty.
    var dueNanoseconds: Int64? { since.map { $0.value + interval(of: $0.key) }.min() }

    /// Maximum wait of a track's samples.
    private func interval(of track: TrackKind) -> Int64 {
        countsFromCapture && track == .audio
            ? max(intervalNanoseconds, Self.soundNanoseconds) : intervalNanoseconds
    }

    /// Adds a sample.
    /// - Returns: batches that are complete with it, oldest first.
    mutating func add(_ sample: EncodedSample, now: Int64) -> [Batch] {
        var complete: [Batch] = []
        let startsAnew = sample.track == .video && sample.flags.contains(.keyframe)
        let isFull =
            sizeBytes + sample.data.count > Self.fullBytes || count == WireLimits.samplesPerBatch
        if startsAnew || isFull, let batch = take() { complete.append(batch) }
        samples[sample.track, default: []].append(sample)
        sizeBytes += sample.data.count
        count += 1
        let begin = countsFromCapture ? captureEnd(of: sample, now: now) : now
        since[sample.track] = min(since[sample.track] ?? begin, begin)
        let isImmediate =
            intervalNanoseconds == 0
            || interval(of: sample.track) <= Self.immediateNanoseconds && countsFromCapture
        if isImmediate, let batch = take() { complete.append(batch) }
        return complete
    }

    private func captureEnd(of sample: EncodedSample, now: Int64) -> Int64 {
        let end = sample.ptsNanoseconds.clampedAdding(sample.durationNanoseconds)
        return min(now, max(end, now - interval(of: sample.track) / 2))
    }

    /// The batch, if it has waited long enough.
    mutating func takeDue(now: Int64) -> Batch? {
        guard let due = dueNanoseconds, now >= due else { return nil }
        return take()
    }

    /// The batch as it is, if it is not empty.
    mutating func take() -> Batch? {
        guard count > 0 else { return nil }
        let ordered = TrackKind.allCases.compactMap { samples[$0] }
        let payload = SharedBytes(count: sizeBytes) { memory in
            var offset = 0
            for sample in ordered.joined() {
                UnsafeMutableRawBufferPointer(rebasing: memory[offset...]).copyBytes(
                    from: sample.data)
                offset += sample.data.count
            }
        }
        let digest = payload.withUnsafeBytes { HashFunction.sha256.hash($0) }
        samples.removeAll(keepingCapacity: true)
        sizeBytes = 0
        count = 0
        since.removeAll(keepingCapacity: true)
        return Batch(runs: ordered.map(Self.run), digest: digest, payload: payload)
    }

    private static func run(_ samples: [EncodedSample]) -> SampleRun {
        let offsets = samples.map { $0.ptsNanoseconds - $0.dtsNanoseconds }
        let durations = samples.map(\.durationNanoseconds)
        let flags = samples.map(\.flags)
        return SampleRun(
            track: samples[0].track, sizes: samples.map { UInt32($0.data.count) },
            dtsNanoseconds: samples.map(\.dtsNanoseconds),
            ptsOffsetsNanoseconds: offsets.allSatisfy { $0 == 0 } ? [] : offsets,
            durationsNanoseconds: collapsed(durations), flags: collapsed(flags),
            camera: camera(samples))
    }

    /// The camera stamps of all samples, in order; nil unless every sample has stamps and all have the same clock rate.
    private static func camera(_ samples: [EncodedSample]) -> CameraStamps? {
        guard var all = samples.first?.camera else { return nil }
        for sample in samples.dropFirst() {
            guard let next = sample.camera, next.clockRate == all.clockRate else { return nil }
            all.stamps += next.stamps
            all.reports += next.reports
        }
        all.reports = Array(all.reports.suffix(CameraStamps.maximumReports))
        return all
    }

    /// A single value if all are equal; otherwise all values.
    private static func collapsed<Value: Equatable>(_ values: [Value]) -> [Value] {
        values.dropFirst().allSatisfy { $0 == values[0] } ? [values[0]] : values
    }
}
