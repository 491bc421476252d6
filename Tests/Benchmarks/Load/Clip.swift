import Hashing
import Devices
import Encoding
import Media
import Messaging
import Wire

/// A media file in memory, divided into an agent's messages.
///
/// The payloads are built once and sent repeatedly without copying, so that most of the load is the protocol's own and
/// one machine can run both the load and the collector.
struct Clip {
    /// A message: samples of at most 100 ms, times counted from the clip's start.
    struct Batch {
        var runs: [SampleRun]
        /// SHA-256 of the payload.
        var digest: [UInt8]
        var payload: SharedBytes
        /// Capture time of its newest sample.
        var endNanoseconds: Int64
    }

    /// Length of an agent's records.
    static let batchNanoseconds: Int64 = 100_000_000

    let formats: [TrackFormat]
    /// Not empty.
    let batches: [Batch]
    /// The clip repeats after this time.
    let lengthNanoseconds: Int64

    /// Reads the H.264 and the AAC of a file.
    init(path: String) throws {
        var file = try FileSource(path: path, kinds: [.video, .audio], loops: false)
        var pictures = try VideoCopier(file.tracks[0])
        var sound = try AudioCopier(file.tracks[1], firstPacket: try file.firstPacket(of: .audio))
        formats = [.video(pictures.format), .audio(sound.format)]
        var batches: [Batch] = []
        var gathered: [EncodedSample] = []
        var end: Int64 = 0
        while let packet = try file.next() {
            let copied =
                packet.track == .video
                ? try pictures.copy(packet).sample : try sound.copy(packet)
            // Priming applies once, but a clip is repeated.
            guard let sample = copied, !sample.flags.contains(.priming) else { continue }
            if let first = gathered.first, Self.beginsBatch(first, sample) {
                batches.append(Batch(gathered))
                gathered.removeAll(keepingCapacity: true)
            }
            gathered.append(sample)
            end = max(end, sample.ptsNanoseconds + sample.durationNanoseconds)
        }
        if !gathered.isEmpty { batches.append(Batch(gathered)) }
        guard !batches.isEmpty else { throw LoadError.emptyClip(path) }
        self.batches = batches
        lengthNanoseconds = end
    }

    /// Whether a sample begins another batch than the one that `first` began.
    private static func beginsBatch(_ first: EncodedSample, _ sample: EncodedSample) -> Bool {
        sample.dtsNanoseconds >= first.dtsNanoseconds + batchNanoseconds
            || sample.track == .video && sample.flags.contains(.keyframe)
    }
}

extension Clip.Batch {
    /// Groups samples by track, pictures first.
    init(_ samples: [EncodedSample]) {
        let tracks = TrackKind.allCases.map { kind in samples.filter { $0.track == kind } }
            .filter { !$0.isEmpty }
        let bytes = tracks.joined().flatMap(\.data)
        runs = tracks.map { samples in
            SampleRun(
                track: samples[0].track, sizes: samples.map { UInt32($0.data.count) },
                dtsNanoseconds: samples.map(\.dtsNanoseconds),
                ptsOffsetsNanoseconds: samples.map { $0.ptsNanoseconds - $0.dtsNanoseconds },
                durationsNanoseconds: samples.map(\.durationNanoseconds),
                flags: samples.map(\.flags))
        }
        digest = HashFunction.sha256.hash(bytes)
        payload = SharedBytes(bytes)
        endNanoseconds = samples.map(\.dtsNanoseconds).max() ?? 0
    }

    /// The runs with the clip beginning at `origin` of the agent's clock.
    func runs(from origin: Int64) -> [SampleRun] {
        runs.map { run in
            var run = run
            run.dtsNanoseconds = run.dtsNanoseconds.map { $0 + origin }
            return run
        }
    }
}
