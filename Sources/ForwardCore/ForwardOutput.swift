import Containers
import Media

/// A connection to a destination, whose timestamps start at zero. Used on one thread, which it may block.
final class ForwardOutput {
    /// Why a sample needs another connection.
    enum Change: String {
        case session = "a new session begins"
        case format = "the format changes"
    }

    /// Duration for which ``finish()`` waits, nanoseconds.
    let drainNanoseconds: Int64
    private var writer: ContainerWriter?
    private let formats: [TrackFormat]
    private let session: String
    /// Decoding time of the first sample, nanoseconds.
    private let origin: Int64
    /// Last decoding time per track: muxers require increasing times.
    private var last: [TrackKind: Int64] = [:]

    /// Connects, and writes the header.
    init(
        _ destination: ContainerDestination, format: ContainerFormat, first: ForwardedSample,
        cancellation: Cancellation
    ) throws(ContainerError) {
        var options = ContainerWriterOptions()
        options.interleaving = .asWritten
        options.flushesPackets = true
        var tracks: [ContainerTrack] = []
        for format in first.formats { tracks.append(try ContainerTrack(format)) }
        formats = first.formats
        session = first.session
        origin = first.dtsNanoseconds
        let writer = try ContainerWriter(
            to: destination, format: format, tracks: tracks, options: options,
            cancellation: cancellation)
        drainNanoseconds = writer.drainNanoseconds
        self.writer = consume writer
    }

    /// Nil: the sample has the formats and the session of this output.
    func change(before sample: ForwardedSample) -> Change? {
        if sample.session != session { return .session }
        return sample.formats == formats ? nil : .format
    }

    func write(_ sample: ForwardedSample) throws(ContainerError) {
        guard let track = formats.firstIndex(where: { $0.kind == sample.track }) else { return }
        let shift = saturatingRescale(
            origin, from: .nanoseconds, to: formats[track].timescale)
        let dts = sample.dts.clampedSubtracting(shift)
        // Drops audio from before the first picture, and samples whose decoding time does not increase.
        guard dts >= 0, dts > last[sample.track] ?? -1 else { return }
        last[sample.track] = dts
        var failure: ContainerError?
        sample.bytes.withUnsafeBytes { bytes in
            do throws(ContainerError) {
                try writer?.write(
                    ContainerPacket(
                        track: track, pts: max(dts, sample.pts.clampedSubtracting(shift)), dts: dts,
                        duration: sample.duration, isKeyframe: sample.flags.contains(.keyframe),
                        isDiscarded: sample.flags.contains(.priming), bytes: bytes))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// Writes the trailer and disconnects.
    func finish() throws(ContainerError) {
        guard let open = writer.take() else { return }
        try open.finish()
    }
}
