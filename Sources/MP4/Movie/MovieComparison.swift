/// Compares a final `moov` with the one that is built from the same fragments, byte by byte.
///
/// Two differences are those of earlier versions: 0.1.0 omitted the timecode track of a file with which a track begins, and
/// wrote the duration of the samples into `mdhd` of a track that begins late.
package struct MovieComparison {
    /// The first box that differs.
    package struct Difference: Hashable, Sendable {
        package let box: FourCC
        /// The handler of the track that contains it; nil: none does.
        package let handler: FourCC?
        /// In the compared `moov`.
        package let offset: Int64
    }

    private static let containers: Set<FourCC> = [
        "moov", "trak", "edts", "mdia", "minf", "stbl",
    ]
    /// `next_track_ID` of `mvhd`: the number of tracks may differ, and players do not need it.
    private static let nextTrackSizeBytes = 4

    /// Whether the compared `moov` has no timecode track.
    private let hasNoTimecode: Bool

    /// The first difference; nil: there is none that matters.
    /// - Parameters:
    ///   - found: the bytes of a `moov` at `offset`.
    ///   - expected: the bytes that ``FinalMovieBuilder`` makes.
    /// - Throws: when one of them cannot be parsed.
    package static func difference(
        _ found: [UInt8], at offset: Int64, expected: [UInt8]
    ) throws(MP4Error) -> Difference? {
        guard found != expected else { return nil }
        let found = try BoxView(found, at: offset)
        let hasTimecode = try tracks(of: found).contains("tmcd")
        return try MovieComparison(hasNoTimecode: !hasTimecode)
            .difference(found, try BoxView(expected, at: 0), in: nil)
    }

    private static func tracks(of movie: BoxView) throws(MP4Error) -> [FourCC] {
        var handlers: [FourCC] = []
        for child in try movie.children() where child.type == "trak" {
            if let handler = try handler(of: child) { handlers.append(handler) }
        }
        return handlers
    }

    private static func handler(of track: BoxView) throws(MP4Error) -> FourCC? {
        guard let media = try track.children().first("mdia"),
            let box = try media.children().first("hdlr")
        else { return nil }
        var fields = box.fields
        try fields.skip(8)
        return try fields.fourCC()
    }

    /// - Parameter track: the expected one that contains the box; nil: none does.
    private func difference(
        _ found: BoxView, _ expected: BoxView, in track: BoxView?
    ) throws(MP4Error) -> Difference? {
        let handler: FourCC? = if let track { try Self.handler(of: track) } else { nil }
        let this = Difference(box: expected.type, handler: handler, offset: found.offset)
        guard found.type == expected.type,
            found.header.headerSizeBytes == expected.header.headerSizeBytes
        else { return this }
        guard Self.containers.contains(expected.type) else {
            return try isEqual(found, expected, in: track) ? nil : this
        }
        var own = try found.children()[...]
        for child in try expected.children() {
            if let next = own.first, next.type == child.type, try !isOmitted(child) {
                own.removeFirst()
                let track = child.type == "trak" ? child : track
                if let difference = try difference(next, child, in: track) { return difference }
            } else if try !isOmitted(child) {
                return Difference(box: child.type, handler: handler, offset: found.offset)
            }
        }
        return own.isEmpty ? nil : this
    }

    /// Whether a box belongs to the timecode track, and the compared `moov` has none.
    private func isOmitted(_ child: BoxView) throws(MP4Error) -> Bool {
        guard hasNoTimecode else { return false }
        if child.type == "tref" { return true }
        return child.type == "trak" ? try Self.handler(of: child) == "tmcd" : false
    }

    private func isEqual(
        _ found: BoxView, _ expected: BoxView, in track: BoxView?
    ) throws(MP4Error) -> Bool {
        let own = try payload(found)
        let other = try payload(expected)
        if own == other { return true }
        switch expected.type {
        case "mvhd":
            return hasNoTimecode
                && own.dropLast(Self.nextTrackSizeBytes)
                    == other.dropLast(Self.nextTrackSizeBytes)
        case "mdhd":
            guard let track, let media = try Self.mediaDuration(track) else { return false }
            let header = try MediaHeader(found)
            return header == (try MediaHeader(expected, duration: media))
        default: return false
        }
    }

    /// The duration of a track's samples, by its `stts`.
    private static func mediaDuration(_ track: BoxView) throws(MP4Error) -> UInt64? {
        guard
            let table = try track.children().first("mdia")?.children().first("minf")?.children()
                .first("stbl")?.children().first("stts")
        else { return nil }
        var fields = table.fields
        _ = try fields.versionAndFlags()
        var total: UInt64 = 0
        for _ in 0..<(try fields.entryCount(entrySizeBytes: 8)) {
            total += UInt64(try fields.u32()) * UInt64(try fields.u32())
        }
        return total
    }

    private func payload(_ box: BoxView) throws(MP4Error) -> [UInt8] {
        var fields = box.fields
        return try fields.raw(fields.bytesLeft)
    }
}

/// The fields of `mdhd` (ISO/IEC 14496-12 §8.4.2).
private struct MediaHeader: Equatable {
    private let flags: UInt32
    private let created: UInt64
    private let modified: UInt64
    private let timescale: UInt32
    private let duration: UInt64
    private let rest: [UInt8]

    /// - Parameter duration: instead of the stated one.
    init(_ box: BoxView, duration: UInt64? = nil) throws(MP4Error) {
        var fields = box.fields
        let version: UInt8
        (version, flags) = try fields.versionAndFlags(newest: 1)
        created = try fields.time(version: version)
        modified = try fields.time(version: version)
        timescale = try fields.u32()
        let stated = try fields.time(version: version)
        self.duration = duration ?? stated
        rest = try fields.raw(fields.bytesLeft)
    }
}
