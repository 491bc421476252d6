import Archive
import Containers
import Glibc
import Library
import Media
import Recordings

/// A container that continues when a recording changes its formats.
///
/// MPEG-TS describes formats in the stream, so it continues while the codecs are the same. A program map has one codec per
/// stream, and other containers have one format per track: another file (`show.mkv`, `show-2.mkv`, …) or another connection
/// to the same server follows. A pipe gets the next stream after the last one. Used on one thread.
final class ContainerOutput {
    /// Maximum number of files or connections. A recording with more changes of format is assumed to be damaged.
    private static let maximumParts = 1_000

    private let destination: ContainerDestination
    private let format: ContainerFormat
    private let overwrites: Bool
    private let options: ContainerWriterOptions
    private let cancellation: Cancellation
    private var writer: ContainerWriter?
    /// The formats in the present container's header.
    private var described: [TrackFormat] = []
    private var present: [TrackFormat] = []
    private var parts = 0
    /// Added to the recorded times so that this part's file starts at zero, nanoseconds; nil: the caller's offset is added.
    private var originNanoseconds: Int64?
    /// Files that were made, in order.
    private(set) var files: [String] = []

    init(
        _ destination: ContainerDestination, format: ContainerFormat, overwrites: Bool,
        options: ContainerWriterOptions, cancellation: Cancellation
    ) {
        self.destination = destination
        self.format = format
        self.overwrites = overwrites
        self.options = options
        self.cancellation = cancellation
    }

    /// Continues with other formats.
    /// - Parameter time: of their first sample, nanoseconds of the recording's timeline.
    func follow(_ formats: [TrackFormat], at time: Int64) throws {
        guard formats != present else { return }
        if writer != nil, describesItself, Self.hasCodecs(of: described, formats) {
            present = formats
            return
        }
        try finish()
        parts += 1
        guard parts <= Self.maximumParts else {
            throw ReplayError(
                "the format of the recording changes more than \(parts - 1) times: replay a shorter range"
            )
        }
        var options = options
        // Receivers ignore a program map with the version of the last one (ISO/IEC 13818-1 §2.4.4.9), which has five bits.
        if format == .mpegTS { options.muxerOptions["tables_version"] = "\((parts - 1) % 32)" }
        writer = try ContainerWriter(
            to: part(), format: format, tracks: formats.map { try ContainerTrack($0) },
            options: options, cancellation: cancellation)
        described = formats
        present = formats
        if case .file = destination, parts > 1 { originNanoseconds = -time }
    }

    /// Whether formats can change in its stream.
    private var describesItself: Bool { format == .mpegTS || format == .rtpMPEGTS }

    /// Whether the tracks that are present have the described kinds and codecs. Tracks that have ended are present no longer.
    private static func hasCodecs(of described: [TrackFormat], _ present: [TrackFormat]) -> Bool {
        present.count <= described.count
            && zip(described, present).allSatisfy {
                $0.kind == $1.kind && $0.codecName == $1.codecName
            }
    }

    /// Destination of the present part.
    private func part() throws -> ContainerDestination {
        guard case .file(let path) = destination else { return destination }
        let name = parts == 1 ? path : Self.name(path, part: parts)
        if parts > 1, !overwrites, NamedPath.exists(name) {
            throw ReplayError(
                "\(name) already exists, and the recording continues there in another format: use --overwrite to replace it"
            )
        }
        files.append(name)
        return .file(name)
    }

    /// `show-2.mkv`.
    static func name(_ path: String, part: Int) -> String {
        guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else {
            return "\(path)-\(part)"
        }
        return "\(path[..<dot])-\(part)\(path[dot...])"
    }

    /// Writes a sample.
    /// - Parameter offset: added to recorded times, nanoseconds.
    func write(
        _ sample: RecordedSample, _ bytes: [UInt8], track: Int, offset: Int64
    ) throws {
        let timescale = described[track].timescale
        let shift = try rescale(
            originNanoseconds ?? offset, from: .nanoseconds, to: timescale, rounding: .up)
        func ticks(_ value: Int64) throws -> Int64 {
            try rescale(value, from: sample.timescale, to: timescale)
        }
        let dts = try ticks(sample.dtsTicks) + shift
        let pts = try ticks(sample.ptsTicks) + shift
        let duration = try ticks(sample.durationTicks)
        let whole =
            try described[track] == present[track] ? bytes : present[track].describing(bytes)
        try whole.withUnsafeBytes { memory in
            try writer?.write(
                ContainerPacket(
                    track: track, pts: pts, dts: dts, duration: duration,
                    isKeyframe: sample.flags.contains(.keyframe),
                    isDiscarded: sample.flags.contains(.priming), bytes: memory))
        }
    }

    /// Writes the trailer.
    func finish() throws {
        guard let open = writer.take() else { return }
        try open.finish()
    }
}
