package import Media

/// What every fragment says of itself, in a `uuid` box that is the last child of its `moof`
/// (ISO/IEC 14496-12 §11.1): which records of which spool it holds, how its times were made, and the chain of
/// digests that makes the file its own witness.
///
/// Layout of the box's payload, big-endian:
///
///     u8 version = 1, 3 bytes 0
///     16 bytes spool identity, 16 bytes epoch identity
///     i64 clock offset (ns, collector − agent), u64 its bound (ns), i64 skew (parts per billion)
///     i64 session zero (ns UTC), i64 segment origin (ns of session time)
///     32 bytes chain: SHA-256 of the `moof` before this one, or of the file's first `moov`
///     u16 number of pieces, each:
///         u32 bytes, u8 where the digest is from (0 agent, 1 collector), 32 bytes SHA-256 of them
///         u8 number of runs, each:
///             u8 track, u8 priming samples at its start, u32 samples
///             u64 first sequence number, i64 first DTS as the agent stamped it (ns of its clock)
///
/// The pieces are the fragment's media data in order. Because a `moof` holds its pieces' digests and the next `moof`
/// holds its digest, one flipped bit anywhere breaks the chain at that fragment.
package struct FragmentRecord: Hashable, Sendable {
    /// The `uuid` box's user type.
    package static let userType: [UInt8] = [
        0xB5, 0xA7, 0xC5, 0xB4, 0x9E, 0x0E, 0x4C, 0x6B, 0x8F, 0x5D, 0x54, 0x52, 0x49, 0x42, 0x55,
        0xF1,
    ]
    package static let version: UInt8 = 1

    /// Who computed a piece's digest.
    package enum DigestOrigin: UInt8, Sendable {
        /// The agent, over the whole message: proves the bytes from the box on.
        case agent = 0
        /// The collector, because the message was divided between two segments.
        case collector = 1
    }

    /// Samples of one track that follow each other in the media data and in their numbers.
    package struct Run: Hashable, Sendable {
        package var track: TrackKind
        /// How many samples at its start are decoded but never presented.
        package var primingSamples: UInt8
        package var samples: UInt32
        package var firstSequence: UInt64
        /// Decoding time of the first sample on the agent's own clock, nanoseconds.
        package var firstDTSNanoseconds: Int64

        package init(
            track: TrackKind, primingSamples: UInt8, samples: UInt32, firstSequence: UInt64,
            firstDTSNanoseconds: Int64
        ) {
            self.track = track
            self.primingSamples = primingSamples
            self.samples = samples
            self.firstSequence = firstSequence
            self.firstDTSNanoseconds = firstDTSNanoseconds
        }
    }

    /// Bytes that came, and were digested, as one.
    package struct Piece: Hashable, Sendable {
        package var sizeBytes: UInt32
        package var digestOrigin: DigestOrigin
        package var digest: Digest
        package var runs: [Run]

        package init(sizeBytes: UInt32, digestOrigin: DigestOrigin, digest: Digest, runs: [Run]) {
            self.sizeBytes = sizeBytes
            self.digestOrigin = digestOrigin
            self.digest = digest
            self.runs = runs
        }
    }

    /// How the agent's clock was mapped when the fragment was written.
    package struct Clock: Hashable, Sendable {
        /// Collector − agent, nanoseconds.
        package var offsetNanoseconds: Int64
        /// How far off that may be, nanoseconds.
        package var boundNanoseconds: UInt64
        /// How much faster the agent's clock runs, parts per billion.
        package var skewPartsPerBillion: Int64

        package init(
            offsetNanoseconds: Int64, boundNanoseconds: UInt64, skewPartsPerBillion: Int64
        ) {
            self.offsetNanoseconds = offsetNanoseconds
            self.boundNanoseconds = boundNanoseconds
            self.skewPartsPerBillion = skewPartsPerBillion
        }
    }

    /// 16 bytes.
    package var spool: [UInt8]
    /// 16 bytes.
    package var epoch: [UInt8]
    package var clock: Clock
    package var sessionZero: UTCTime
    /// The segment's origin on the session's timeline, nanoseconds.
    package var segmentOriginNanoseconds: Int64
    package var chain: Digest
    package var pieces: [Piece]

    package init(
        spool: [UInt8], epoch: [UInt8], clock: Clock, sessionZero: UTCTime,
        segmentOriginNanoseconds: Int64, chain: Digest, pieces: [Piece]
    ) {
        precondition(spool.count == 16 && epoch.count == 16, "identities are 16 bytes")
        self.spool = spool
        self.epoch = epoch
        self.clock = clock
        self.sessionZero = sessionZero
        self.segmentOriginNanoseconds = segmentOriginNanoseconds
        self.chain = chain
        self.pieces = pieces
    }

    /// The sequence numbers the fragment holds, in the order of its pieces.
    package var sequences: [ClosedRange<UInt64>] {
        pieces.flatMap(\.runs).filter { $0.samples > 0 }.map { run in
            run.firstSequence...(run.firstSequence + UInt64(run.samples) - 1)
        }
    }
}

// MARK: - Bytes

extension FragmentRecord {
    /// The payload of the `uuid` box.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128 + pieces.count * 90)
        bytes.appendBigEndian(UInt32(Self.version) << 24)
        bytes += spool
        bytes += epoch
        bytes.appendBigEndian(UInt64(bitPattern: clock.offsetNanoseconds))
        bytes.appendBigEndian(clock.boundNanoseconds)
        bytes.appendBigEndian(UInt64(bitPattern: clock.skewPartsPerBillion))
        bytes.appendBigEndian(UInt64(bitPattern: sessionZero.nanoseconds))
        bytes.appendBigEndian(UInt64(bitPattern: segmentOriginNanoseconds))
        bytes += chain.bytes
        bytes.appendBigEndian(UInt16(pieces.count))
        for piece in pieces {
            bytes.appendBigEndian(piece.sizeBytes)
            bytes.append(piece.digestOrigin.rawValue)
            bytes += piece.digest.bytes
            bytes.append(UInt8(piece.runs.count))
            for run in piece.runs {
                bytes.append(run.track.rawValue)
                bytes.append(run.primingSamples)
                bytes.appendBigEndian(run.samples)
                bytes.appendBigEndian(run.firstSequence)
                bytes.appendBigEndian(UInt64(bitPattern: run.firstDTSNanoseconds))
            }
        }
        return bytes
    }

    /// Why a record could not be read.
    package struct Malformed: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// Reads the payload of a `uuid` box. Never trusts a count: every read is checked against what is there.
    package init(parsing payload: [UInt8]) throws(Malformed) {
        var reader = RecordReader(payload)
        guard try reader.integer(UInt8.self) == Self.version else {
            throw Malformed(description: "a fragment record of an unknown version")
        }
        _ = try reader.bytes(3)
        spool = try reader.bytes(16)
        epoch = try reader.bytes(16)
        clock = Clock(
            offsetNanoseconds: Int64(bitPattern: try reader.integer(UInt64.self)),
            boundNanoseconds: try reader.integer(UInt64.self),
            skewPartsPerBillion: Int64(bitPattern: try reader.integer(UInt64.self)))
        sessionZero = UTCTime(nanoseconds: Int64(bitPattern: try reader.integer(UInt64.self)))
        segmentOriginNanoseconds = Int64(bitPattern: try reader.integer(UInt64.self))
        chain = try reader.digest()
        pieces = []
        for _ in 0..<(try reader.integer(UInt16.self)) {
            let size = try reader.integer(UInt32.self)
            guard let origin = DigestOrigin(rawValue: try reader.integer(UInt8.self)) else {
                throw Malformed(description: "a digest from an unknown place")
            }
            let digest = try reader.digest()
            var runs: [Run] = []
            for _ in 0..<(try reader.integer(UInt8.self)) { runs.append(try reader.run()) }
            pieces.append(
                Piece(sizeBytes: size, digestOrigin: origin, digest: digest, runs: runs))
        }
        guard reader.isAtEnd else {
            throw Malformed(description: "a fragment record with bytes after its end")
        }
    }
}

/// Reads big-endian values from bytes that nobody vouches for.
private struct RecordReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func bytes(_ count: Int) throws(FragmentRecord.Malformed) -> [UInt8] {
        guard count <= bytes.count - position else {
            throw FragmentRecord.Malformed(
                description: "a fragment record cut short at byte \(bytes.count)")
        }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    mutating func integer<Integer: FixedWidthInteger & UnsignedInteger>(
        _: Integer.Type
    ) throws(FragmentRecord.Malformed) -> Integer {
        try bytes(Integer.bitWidth / 8).reduce(0) { $0 << 8 | Integer($1) }
    }

    mutating func digest() throws(FragmentRecord.Malformed) -> Digest {
        guard let digest = Digest(try bytes(Digest.byteCount)) else {
            throw FragmentRecord.Malformed(description: "a digest of another size")
        }
        return digest
    }

    mutating func run() throws(FragmentRecord.Malformed) -> FragmentRecord.Run {
        guard let track = TrackKind(rawValue: try integer(UInt8.self)) else {
            throw FragmentRecord.Malformed(description: "a run of an unknown track")
        }
        let run = FragmentRecord.Run(
            track: track, primingSamples: try integer(UInt8.self),
            samples: try integer(UInt32.self), firstSequence: try integer(UInt64.self),
            firstDTSNanoseconds: Int64(bitPattern: try integer(UInt64.self)))
        let (_, overflow) = run.firstSequence.addingReportingOverflow(UInt64(run.samples))
        guard !overflow else {
            throw FragmentRecord.Malformed(description: "sequence numbers past 64 bits")
        }
        return run
    }
}

extension [UInt8] {
    /// Appends an integer, most significant byte first.
    fileprivate mutating func appendBigEndian<Integer: FixedWidthInteger>(_ value: Integer) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}
