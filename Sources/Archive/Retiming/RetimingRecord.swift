package import Media

/// The change of a file's times by retiming: a `uuid` box that is the last child of the final `moov` (ISO/IEC 14496-12
/// §11.1). The tables of that `moov` follow from the fragments' times and this mapping.
///
/// Layout of the box's payload, big-endian:
///
///     u8 version = 2 if times follow a camera's timestamps, else 1; u8 number of tracks, 2 bytes 0
///     3 × u64 least, median and greatest bound before (ns), 3 × u64 the same afterwards
///     each track:
///         u8 track, 3 bytes 0, u32 number of knots
///         in version 2: u32 samples whose times follow the camera's timestamps, u64 median and u64 greatest distance of these from the
///             agent's stamps (ns)
///         i64 decoding time of the first sample (ticks of the file's media timeline)
///         each knot: i64 decoding time as recorded (ticks of the file's media timeline),
///             i64 shift (ns), u64 bound until the next knot (ns)
///     8 bytes: the first of the SHA-256 of all before
///
/// Between two knots, the shift is interpolated linearly; before the first and after the last knot, it is that knot's
/// shift.
package struct RetimingRecord: Hashable, Sendable {
    /// The `uuid` box's user type.
    package static let userType: [UInt8] = [
        0x0E, 0x5B, 0x2A, 0x8D, 0x61, 0xF4, 0x4D, 0x0C, 0x9B, 0x37, 0x54, 0x52, 0x49, 0x42, 0x55,
        0xF2,
    ]
    private static let version: UInt8 = 2
    /// The version that is written without a camera's timestamps.
    private static let plainVersion: UInt8 = 1
    private static let checkBytes = 8

    /// A knot of the mapping.
    package struct Knot: Hashable, Sendable {
        /// Decoding time as recorded, ticks of the file's media timeline.
        package var ticks: Int64
        package var shiftNanoseconds: Int64
        /// Maximum error of times from here to the next knot.
        package var boundNanoseconds: UInt64

        package init(ticks: Int64, shiftNanoseconds: Int64, boundNanoseconds: UInt64) {
            self.ticks = ticks
            self.shiftNanoseconds = shiftNanoseconds
            self.boundNanoseconds = boundNanoseconds
        }
    }

    /// A track's mapping.
    package struct Track: Hashable, Sendable {
        /// In place of ``startTicks``: the mapping applies to the first sample, too. It is in no file.
        package static let startsByMapping = Int64.min

        package var kind: TrackKind
        /// Decoding time of the first sample after retiming, ticks of the file's media timeline.
        package var startTicks: Int64
        /// At least one, in the order of time.
        package var knots: [Knot]
        /// Nil: no times follow a camera's timestamps.
        package var camera: CameraUse?

        package init(kind: TrackKind, startTicks: Int64, knots: [Knot]) {
            self.kind = kind
            self.startTicks = startTicks
            self.knots = knots
        }

        /// Maximum error of a time, nanoseconds; of one before the first knot, that knot's.
        /// - Parameter ticks: decoding time as recorded, of the file's media timeline.
        package func boundNanoseconds(at ticks: Int64) -> UInt64 {
            (knots.last { $0.ticks <= ticks } ?? knots[0]).boundNanoseconds
        }

        /// The shift of a time, nanoseconds.
        /// - Parameter ticks: decoding time as recorded, of the file's media timeline.
        package func shiftNanoseconds(at ticks: Int64) -> Int64 {
            let next = knots.firstIndex { $0.ticks > ticks } ?? knots.count
            guard next > 0 else { return knots[0].shiftNanoseconds }
            guard next < knots.count else { return knots[next - 1].shiftNanoseconds }
            return Knot.shift(between: knots[next - 1], and: knots[next], at: ticks)
        }
    }

    /// The samples of a track whose times follow a network camera's timestamps.
    package struct CameraUse: Hashable, Sendable {
        package var samples: UInt32
        /// Distances from the agent's stamps, nanoseconds.
        package var medianNanoseconds: UInt64
        package var greatestNanoseconds: UInt64

        /// Nil: none is moved.
        init?(shifts: [UInt64]) {
            let sorted = shifts.sorted()
            guard let greatest = sorted.last, greatest > 0 else { return nil }
            self.init(
                samples: UInt32(clamping: sorted.count),
                medianNanoseconds: sorted[sorted.count / 2], greatestNanoseconds: greatest)
        }

        fileprivate init(samples: UInt32, medianNanoseconds: UInt64, greatestNanoseconds: UInt64) {
            self.samples = samples
            self.medianNanoseconds = medianNanoseconds
            self.greatestNanoseconds = greatestNanoseconds
        }
    }

    /// The bounds of times, nanoseconds.
    package struct Bounds: Hashable, Sendable {
        package var least: UInt64
        package var median: UInt64
        package var greatest: UInt64

        /// The spread of some values; nil without any.
        package init?(_ values: some Collection<UInt64>) {
            let sorted = values.sorted()
            guard let first = sorted.first, let last = sorted.last else { return nil }
            (least, median, greatest) = (first, sorted[sorted.count / 2], last)
        }

        fileprivate init(least: UInt64, median: UInt64, greatest: UInt64) {
            (self.least, self.median, self.greatest) = (least, median, greatest)
        }
    }

    package var before: Bounds
    package var after: Bounds
    package var tracks: [Track]
    /// Whether the knots' bounds are added to those of the fragments. This applies if the mapping is in no file, but results
    /// from the file's position in a session of several archives.
    package var addsBounds = false

    package init(before: Bounds, after: Bounds, tracks: [Track]) {
        precondition(tracks.allSatisfy { !$0.knots.isEmpty }, "a mapping has a knot")
        self.before = before
        self.after = after
        self.tracks = tracks
    }

    /// Identifies the mapping, and so the file's index: the first bytes of the record's SHA-256. Never 0, which stands
    /// for a file as recorded.
    package var revision: UInt32 {
        max(1, Digest(of: encoded()).bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
    }

    package func track(_ kind: TrackKind) -> Track? { tracks.first { $0.kind == kind } }

    /// The payload of the `uuid` box.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        let hasCamera = tracks.contains { $0.camera != nil }
        let version = hasCamera ? Self.version : Self.plainVersion
        bytes.appendBigEndian(UInt32(version) << 24 | UInt32(tracks.count) << 16)
        for bounds in [before, after] {
            for value in [bounds.least, bounds.median, bounds.greatest] {
                bytes.appendBigEndian(value)
            }
        }
        for track in tracks {
            bytes.appendBigEndian(UInt32(track.kind.rawValue) << 24)
            bytes.appendBigEndian(UInt32(track.knots.count))
            if hasCamera {
                bytes.appendBigEndian(track.camera?.samples ?? 0)
                bytes.appendBigEndian(track.camera?.medianNanoseconds ?? 0)
                bytes.appendBigEndian(track.camera?.greatestNanoseconds ?? 0)
            }
            bytes.appendBigEndian(track.startTicks)
            for knot in track.knots {
                bytes.appendBigEndian(knot.ticks)
                bytes.appendBigEndian(knot.shiftNanoseconds)
                bytes.appendBigEndian(knot.boundNanoseconds)
            }
        }
        return bytes + Digest(of: bytes).bytes.prefix(Self.checkBytes)
    }

    /// Reads the payload of a `uuid` box. No count is trusted: every read is checked against the available bytes.
    package init(parsing payload: [UInt8]) throws(MalformedRecord) {
        let body = Array(payload.dropLast(Self.checkBytes))
        guard
            Array(payload.suffix(Self.checkBytes))
                == Array(Digest(of: body).bytes.prefix(Self.checkBytes))
        else { throw MalformedRecord(description: "checksum mismatch") }
        var reader = RecordReader(body, what: "a record of retiming")
        let version = try reader.integer(UInt8.self)
        guard (Self.plainVersion...Self.version).contains(version) else {
            throw MalformedRecord(description: "unknown version")
        }
        let count = try reader.integer(UInt8.self)
        _ = try reader.bytes(2)
        before = Bounds(
            least: try reader.integer(UInt64.self), median: try reader.integer(UInt64.self),
            greatest: try reader.integer(UInt64.self))
        after = Bounds(
            least: try reader.integer(UInt64.self), median: try reader.integer(UInt64.self),
            greatest: try reader.integer(UInt64.self))
        tracks = []
        for _ in 0..<count {
            tracks.append(try Self.track(&reader, hasCamera: version == Self.version))
        }
        guard reader.isAtEnd, Set(tracks.map(\.kind)).count == tracks.count else {
            throw MalformedRecord(description: "bytes after its end")
        }
    }

    /// Maximum ticks from a file's start, in either direction: more than a fragment can express.
    private static let farthest: UInt64 = 1 << 61

    private static func track(
        _ reader: inout RecordReader, hasCamera: Bool
    ) throws(MalformedRecord) -> Track {
        guard let kind = TrackKind(rawValue: try reader.integer(UInt8.self)) else {
            throw MalformedRecord(description: "an unknown track")
        }
        _ = try reader.bytes(3)
        let count = try reader.integer(UInt32.self)
        var camera: CameraUse?
        if hasCamera {
            let use = CameraUse(
                samples: try reader.integer(UInt32.self),
                medianNanoseconds: try reader.integer(UInt64.self),
                greatestNanoseconds: try reader.integer(UInt64.self))
            camera = use.samples > 0 ? use : nil
        }
        var track = Track(kind: kind, startTicks: try reader.signed(), knots: [])
        track.camera = camera
        for _ in 0..<count {
            let knot = Knot(
                ticks: try reader.signed(), shiftNanoseconds: try reader.signed(),
                boundNanoseconds: try reader.integer(UInt64.self))
            guard knot.ticks > track.knots.last?.ticks ?? .min else {
                throw MalformedRecord(description: "knots out of order")
            }
            guard knot.ticks.magnitude <= farthest, track.startTicks.magnitude <= farthest,
                knot.shiftNanoseconds.magnitude <= RecordLimits.sessionNanoseconds.magnitude
            else { throw MalformedRecord(description: "impossible times") }
            track.knots.append(knot)
        }
        guard !track.knots.isEmpty else { throw MalformedRecord(description: "no knots") }
        return track
    }
}
