import Media
import MP4
import Wire

/// A message of a feed as a fragment of an MP4 (ISO/IEC 14496-12 §8.8), on the session's timeline.
struct LiveFragment: Sendable {
    var session: String
    var source: String
    /// `moof` and `mdat`.
    var bytes: [UInt8]
    /// Descriptions of its samples, whose bytes are at the end of ``bytes``, in the same order.
    var runs: [FeedSamples.Run]
    /// Presentation time of its pictures, or of its sound if the source has no pictures, nanoseconds of session time; nil: it
    /// has none of that track.
    var mainNanoseconds: Range<Int64>?
    /// Session time of its first sample, nanoseconds.
    var startNanoseconds: Int64
    var durationNanoseconds: Int64
    var boundNanoseconds: UInt64
    /// Time from the end of its last sample to its arrival at the collector.
    var lagNanoseconds: Int64
    /// Decoding can begin with it.
    var beginsDecodable: Bool

    /// - Parameter number: of `mfhd`.
    /// - Throws: when a fragment cannot contain these samples.
    init(_ samples: FeedSamples, media: [UInt8], number: UInt32) throws(LiveError) {
        guard media.count == samples.sizeBytes else { throw .malformed }
        var builder = FragmentBuilder()
        var start = Int64.max
        var end = Int64.min
        let main: TrackKind =
            samples.formats.contains { $0.kind == .video } ? .video : .audio
        mainNanoseconds = nil
        for run in samples.runs {
            guard let format = samples.formats.first(where: { $0.kind == run.track }),
                let first = run.samples.first, first.dts >= 0
            else { throw .beforeZero }
            builder.beginRun(track: run.track, firstDTS: first.dts)
            for (index, sample) in run.samples.enumerated() {
                let next = index + 1 < run.samples.count ? run.samples[index + 1].dts : nil
                let distance = next.map { $0.clampedSubtracting(sample.dts) } ?? sample.duration
                guard let duration = UInt32(exactly: max(1, distance)),
                    let offset = Int32(exactly: sample.pts.clampedSubtracting(sample.dts))
                else { throw .malformed }
                builder.append(
                    FragmentSample(
                        sizeBytes: sample.sizeBytes, duration: duration,
                        compositionOffset: offset, isSync: sample.flags.contains(.keyframe)))
                let scale = format.timescale
                let begins = scale.nanoseconds(sample.pts)
                let ends = scale.nanoseconds(sample.pts.clampedAdding(sample.duration))
                start = min(start, begins)
                end = max(end, ends)
                guard run.track == main, begins <= ends else { continue }
                let known = mainNanoseconds ?? begins..<ends
                mainNanoseconds =
                    min(known.lowerBound, begins)..<max(known.upperBound, ends)
            }
        }
        do throws(MP4Error) {
            bytes = try builder.finish(sequenceNumber: number) + media
        } catch {
            throw .malformed
        }
        runs = samples.runs
        session = samples.session
        source = samples.source
        startNanoseconds = start
        durationNanoseconds = max(0, end.clampedSubtracting(start))
        boundNanoseconds = samples.boundNanoseconds
        lagNanoseconds = samples.arrivedNanoseconds.clampedSubtracting(end)
        beginsDecodable = DecodingStart.isPossible(
            at: samples.runs.first { $0.track == .video }?.samples.first?.flags,
            hasVideo: samples.formats.contains { $0.kind == .video })
    }
}

/// The reason why a message of a feed cannot be presented.
enum LiveError: Error, Hashable {
    case malformed
    /// Its samples precede the session's zero: they are decoded, and not shown.
    case beforeZero
}

/// The initialization segment of a source, sent again when a format changes.
struct LiveFormat: Hashable, Sendable {
    /// The collector's name; empty: it is the only one.
    var collector: String
    var session: String
    var zeroUTCNanoseconds: Int64
    var formats: [TrackFormat]

    init(_ samples: FeedSamples, from collector: String = "") {
        self.collector = collector
        session = samples.session
        zeroUTCNanoseconds = samples.zeroUTCNanoseconds
        formats = samples.formats
    }

    /// `ftyp` and a `moov` without samples.
    func initialization() throws(LiveError) -> [UInt8] {
        do throws(MP4Error) {
            return try FragmentedHeader(
                tracks: formats.map { RecordingTrack(format: $0) },
                createdUnixSeconds: zeroUTCNanoseconds / 1_000_000_000
            ).bytes
        } catch {
            throw .malformed
        }
    }

    /// Codec strings (RFC 6381 §3.3; ISO/IEC 14496-15 §5.4.2): `avc1.64001e,mp4a.40.2`.
    var codecs: String { formats.map(\.codecText).joined(separator: ",") }
}
