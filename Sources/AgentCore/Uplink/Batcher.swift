import Hashing
import Media
import Messaging
import Wire

/// A batch that is ready to be numbered: what the header will say of it, and its bytes.
struct Batch: Sendable {
    var runs: [SampleRun]
    /// SHA-256 of the payload.
    var digest: [UInt8]
    /// The samples' bytes, run after run.
    var payload: SharedBytes

    /// Number of samples.
    var count: Int { runs.reduce(0) { $0 + $1.count } }
    /// Whether its first picture can be decoded without others; nil: it has no pictures.
    var beginsDecodable: Bool? {
        runs.first { $0.track == .video }.map {
            DecodingStart.isPossible(at: $0.flags(at: 0), hasVideo: true)
        }
    }

    /// The loss of all its samples, because no more could be kept.
    func loss(_ text: String) -> Loss {
        let times = runs.times
        return Loss(
            track: nil, cause: .spoolFull, startNanoseconds: times.lowerBound,
            durationNanoseconds: times.upperBound - times.lowerBound, samples: UInt64(count),
            text: text)
    }
}

/// Collects one source's samples into batches: per-message cost is what a receiver pays for, so samples travel together.
///
/// A batch ends when it is old enough, when it is large enough, and before a picture at which decoding can start, so that no
/// batch straddles a fragment. In it, samples are grouped by track, pictures first.
struct Batcher: Sendable {
    /// A batch is sent when it has grown to this: far below what a message may carry, so that one more sample fits.
    static let fullBytes = 1 << 20

    private(set) var intervalNanoseconds: Int64
    /// Whether samples wait from their capture and not from when they were encoded.
    private var countsFromCapture = false
    private var samples: [TrackKind: [EncodedSample]] = [:]
    private var sizeBytes = 0
    private var count = 0
    private var sinceNanoseconds: Int64?

    /// - Parameter intervalNanoseconds: how long samples wait for company; 0: not at all.
    init(intervalNanoseconds: Int64) {
        self.intervalNanoseconds = intervalNanoseconds
    }

    var isEmpty: Bool { count == 0 }

    /// Changes how long samples wait, those that wait already included: the batch under way may be due at once.
    /// - Parameter countsFromCapture: whether the interval counts from a sample's capture: an AAC packet leaves the encoder when the packet
    ///   after it is complete, 64 ms after its first sample of sound at 48 kHz. What it has cost to encode is taken from the wait, up to half of it:
    ///   a slow encoder does not make a message of every sample.
    mutating func setInterval(_ nanoseconds: Int64, countsFromCapture: Bool = false) {
        intervalNanoseconds = nanoseconds
        self.countsFromCapture = countsFromCapture
    }

    /// When the batch is due, on the clock that ``add(_:now:)`` was given; nil while it is empty.
    var dueNanoseconds: Int64? { sinceNanoseconds.map { $0 + intervalNanoseconds } }

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
        let since = countsFromCapture ? captureEnd(of: sample, now: now) : now
        sinceNanoseconds = min(sinceNanoseconds ?? since, since)
        if intervalNanoseconds == 0, let batch = take() { complete.append(batch) }
        return complete
    }

    private func captureEnd(of sample: EncodedSample, now: Int64) -> Int64 {
        let end = sample.ptsNanoseconds.clampedAdding(sample.durationNanoseconds)
        return min(now, max(end, now - intervalNanoseconds / 2))
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
        sinceNanoseconds = nil
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
            durationsNanoseconds: collapsed(durations), flags: collapsed(flags))
    }

    /// One value where all are alike.
    private static func collapsed<Value: Equatable>(_ values: [Value]) -> [Value] {
        values.dropFirst().allSatisfy { $0 == values[0] } ? [values[0]] : values
    }
}
