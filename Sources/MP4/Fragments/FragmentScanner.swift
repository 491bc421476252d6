package import Media

/// A sample of a fragment in a file.
package struct ScannedSample: Hashable, Sendable {
    /// File offset of its bytes.
    package var offset: Int64
    package var sizeBytes: UInt32
    package var duration: UInt32
    /// Ticks of the track, its media time shift included.
    package var dts: Int64
    package var compositionOffset: Int32
    package var isSync: Bool

    package var pts: Int64 { dts + Int64(compositionOffset) }
}

/// The samples of one `trun`.
package struct ScannedRun: Hashable, Sendable {
    package var track: TrackKind
    package var samples: [ScannedSample]
}

/// A complete `moof` with its `mdat`.
package struct ScannedFragment: Hashable, Sendable {
    /// Sequence number in `mfhd`.
    package var sequenceNumber: UInt32
    /// The `moof` box.
    package var moof: Range<Int64>
    /// The content of the `mdat` box.
    package var media: Range<Int64>
    /// In the order of their bytes.
    package var runs: [ScannedRun]
    /// The `uuid` boxes of the `moof`.
    package var userBoxes: [UserBox]

    /// `moof` and `mdat`.
    package var range: Range<Int64> { moof.lowerBound..<media.upperBound }
}

/// Iterates over the fragments of a growing or finished recording.
///
/// A scanner holds one fragment at a time.
package struct FragmentScanner<Source: ByteSource> {
    /// Why the scan ended.
    package enum Stop: Hashable, Sendable {
        /// The file, or the big `mdat` of a finished one, ends after a whole fragment.
        case end
        /// A final `moov` follows the fragments: in a growing file, the placeholder has not become `mdat` yet; in a
        /// finished one, another index has replaced this one (``IndexReplacement``).
        case finalMovie(at: Int64)
        /// The last write is incomplete.
        case torn(at: Int64)
        /// The next bytes are no fragment.
        case damaged(MP4Error)
    }

    /// The start of the file, and the phase of its life.
    package let layout: RecordingLayout
    /// The end of the last whole fragment (of the initial `moov` if there is none).
    package private(set) var validEnd: Int64
    /// Nil until ``next()`` has returned nil.
    package private(set) var stop: Stop?

    private let source: Source
    private let parser: FragmentParser

    /// Reads the start of the file.
    ///
    /// - Throws: ``MP4Error/notARecording(offset:reason:)`` if the file is not a recording.
    package init(_ source: Source) throws(MP4Error) {
        self.source = source
        layout = try RecordingLayout(of: source)
        parser = try FragmentParser(movie: layout.initialMovie)
        validEnd = layout.fragments.lowerBound
    }

    /// Continues where another scanner has stopped, in a file that has grown since.
    ///
    /// - Parameter source: the same file, with its present size.
    package init(_ source: Source, after earlier: FragmentScanner) throws(MP4Error) {
        try self.init(source)
        validEnd = max(validEnd, earlier.validEnd)
    }

    /// Skips to a fragment.
    /// - Parameter offset: the start of a fragment after all that were read. It is validated like any other.
    package mutating func skip(to offset: Int64) {
        precondition(offset >= validEnd && offset <= layout.fragments.upperBound)
        validEnd = offset
        stop = nil
    }

    /// The next whole fragment; nil at the end, with ``stop`` as the reason.
    ///
    /// - Throws: only when the source cannot be read.
    package mutating func next() throws(MP4Error) -> ScannedFragment? {
        guard stop == nil else { return nil }
        do {
            guard let fragment = try parseNext() else { return nil }
            validEnd = fragment.media.upperBound
            return fragment
        } catch {
            switch error {
            case .unreadable, .shortRead: throw error
            case .pastEnd, .noBox: stop = .torn(at: validEnd)
            default: stop = .damaged(error)
            }
            return nil
        }
    }

    /// Bytes per read: most `moof`s fit, so that a fragment needs one read.
    private static var windowSize: Int64 { 4_096 }

    private mutating func parseNext() throws(MP4Error) -> ScannedFragment? {
        let end = layout.fragments.upperBound
        guard validEnd < end else {
            // A finished file without its end is detected by its mdat, which is longer.
            stop = layout.isCutShort ? .torn(at: validEnd) : .end
            return nil
        }
        var bytes = try source.read(
            at: validEnd, count: Int(min(Self.windowSize, end - validEnd)))
        let moof = try BoxHeader(parsing: bytes[...], at: validEnd, limit: end)
        if moof.type == "moov" {
            stop = .finalMovie(at: validEnd)
            return nil
        }
        if moof.type == "free" {
            // Written, but not sealed.
            stop = .torn(at: validEnd)
            return nil
        }
        guard moof.type == "moof" else {
            throw .invalid(box: moof.type, offset: moof.offset, reason: "not a fragment")
        }
        guard moof.sizeBytes <= FragmentLimits.moofSizeBytes else {
            throw .overLimit(
                box: moof.type, offset: moof.offset, what: "size",
                value: UInt64(moof.sizeBytes),
                limit: UInt64(FragmentLimits.moofSizeBytes))
        }
        let wanted = min(moof.sizeBytes + 16, end - validEnd)
        if bytes.count < wanted { bytes = try source.read(at: validEnd, count: Int(wanted)) }
        let size = Int(moof.sizeBytes)
        let mdat = try BoxHeader(parsing: bytes[size...], at: moof.end, limit: end)
        guard mdat.type == "mdat" else {
            throw .invalid(box: mdat.type, offset: mdat.offset, reason: "not a fragment's media")
        }
        guard mdat.sizeBytes <= FragmentLimits.mediaSizeBytes else {
            throw .overLimit(
                box: mdat.type, offset: mdat.offset, what: "size", value: UInt64(mdat.sizeBytes),
                limit: UInt64(FragmentLimits.mediaSizeBytes))
        }
        return try parser.parse(
            BoxView(Array(bytes[..<size]), at: validEnd), media: mdat.payload)
    }
}

extension FragmentScanner: Sendable where Source: Sendable {}
